"""A satellite that the library of the Wyoming protocol serves, and a line that writes down what comes into it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from wyoming.audio import AudioChunk, AudioStop
from wyoming.event import Event
from wyoming.info import Attribution, Describe, Info, Satellite, WakeModel, WakeProgram
from wyoming.ping import Ping, Pong
from wyoming.server import AsyncEventHandler, AsyncTcpServer
from wyoming.snd import Played

from hub.voice.contract import Satellite as HubSatellite, SatelliteInfo
from tests.until import until

ABOUT: dict[str, Any] = {"attribution": Attribution("", ""), "installed": True, "version": "1.4"}


class SatelliteDouble:
    """A satellite.

    Attributes:
        heard: The events that came from the hub, without pings; `pongs` are apart.
        times: When each of them came, on the monotonic clock.
        is_quiet: Whether it answers nothing any more.
        is_old: Whether it knows neither pings nor `played`, as version 1.0.
        is_taken: Whether another server has it.
        info: What it says of itself.
    """

    def __init__(self, name: str = "Kitchen satellite", area: str | None = "Kitchen", **about: Any) -> None:
        words = [WakeModel(name="ok_nabu", phrase="okay nabu", languages=["en"], description=None, **ABOUT)]
        wake = [WakeProgram(name="words", models=words, description=None, **ABOUT)]
        satellite = Satellite(name=name, area=area, description="Box", **ABOUT, **about)
        self.info = Info(satellite=satellite, wake=wake)
        self.heard: list[Event] = []
        self.times: list[float] = []
        self.pongs: list[Event] = []
        self.connections = 0
        self.is_quiet = self.is_old = self.is_taken = False
        self.port = 0
        self._server: AsyncTcpServer | None = None
        self._handlers: list[_Handler] = []

    async def start(self) -> None:
        """Serve, at the same port as before."""
        self._server = AsyncTcpServer("127.0.0.1", self.port)
        await self._server.start(lambda *sockets: _Handler(self, *sockets))
        assert isinstance(self._server._server, asyncio.Server)
        self.port = self._server._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Go away."""
        assert self._server is not None
        await self._server.stop()
        for each in self._handlers:
            each.writer.close()
        self._handlers.clear()

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    async def send(self, *events: Any) -> None:
        """Send events to the hub."""
        for each in events:
            await self._handlers[-1].write_event(each if isinstance(each, Event) else each.event())

    async def garble(self, data: bytes) -> None:
        """Send bytes to the hub."""
        self._handlers[-1].writer.write(data)
        await self._handlers[-1].writer.drain()

    def stall(self) -> None:
        """Take nothing any more that the hub sends."""
        transport = self._handlers[-1].writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()

    async def say(self, samples: bytes, rate: int = 16_000, channels: int = 1) -> None:
        """Send what it hears, as its microphone gives it."""
        for at in range(0, len(samples), 2_048):
            await self.send(AudioChunk(rate, 2, channels, samples[at : at + 2_048]))

    def types(self) -> list[str]:
        """Return the types of what came, chunks once."""
        found: list[str] = []
        for each in self.heard:
            if found[-1:] != [each.type] or each.type != "audio-chunk":
                found.append(each.type)
        return found

    async def got(self, type: str) -> Event:
        """Return the last event of a type, once there is one; what came until then is forgotten."""
        event = await until(lambda: next((each for each in reversed(self.heard) if each.type == type), None))
        assert event is not None
        return event


class _Handler(AsyncEventHandler):
    def __init__(self, double: SatelliteDouble, *sockets: Any) -> None:
        super().__init__(*sockets)
        self._double = double
        double.connections += 1
        double._handlers.append(self)

    async def handle_event(self, event: Event) -> bool:
        double = self._double
        if Ping.is_type(event.type):
            if not double.is_quiet and not double.is_old:
                await self.write_event(Pong(Ping.from_event(event).text).event())
            return not double.is_taken
        if Describe.is_type(event.type):
            await self.write_event(double.info.event())
            return True
        if Pong.is_type(event.type):
            double.pongs.append(event)
            return not double.is_taken
        double.heard.append(event)
        double.times.append(time.monotonic())
        if AudioStop.is_type(event.type) and not double.is_old:
            await self.write_event(Played().event())
        return not double.is_taken


class RecordingLine:
    """Writes down what comes."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.samples = b""
        self.is_connected = False

    def wake(self, word: str | None = None) -> None:
        self.calls.append(("wake", word))

    def feed(self, samples: bytes) -> None:
        self.samples += samples

    def end(self) -> None:
        self.calls.append(("end",))

    def heard(self, text: str) -> None:
        self.calls.append(("heard", text))

    def stop(self) -> None:
        self.calls.append(("stop",))

    def connected(self, *, is_connected: bool) -> None:
        self.is_connected = is_connected
        self.calls.append(("connected", is_connected))

    def changed(self) -> None:
        self.calls.append(("changed",))


class RecordingSatellites:
    """Takes satellites, and gives each a line that writes down."""

    def __init__(self) -> None:
        self.lines: dict[str, RecordingLine] = {}
        self.said: list[tuple[str, str]] = []

    def add(self, satellite: HubSatellite) -> tuple[RecordingLine, Callable[[], Any]]:
        info: SatelliteInfo = satellite.info
        line = self.lines[info.id] = RecordingLine()
        return line, lambda: self.lines.pop(info.id)


@asynccontextmanager
async def satellite_double(double: SatelliteDouble) -> AsyncIterator[SatelliteDouble]:
    """Run a double."""
    await double.start()
    try:
        yield double
    finally:
        await double.stop()
