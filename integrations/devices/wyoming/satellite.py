"""A Wyoming satellite: what it hears goes into a line to the hub, and the hub speaks by it.

The hub connects to it. One that finds its wake words itself cannot be told to listen, unless it says that it can.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.entities.description import DeviceInfo, EntityDescription, clean
from hub.entities.entities import Command
from hub.voice.contract import Line, Satellite, SatelliteInfo, Sound, Stage, TimerChange, TimerView
from hub.voice.sound import Resampler
from integrations.devices.wyoming.schema import SATELLITE_PORT, id_of
from integrations.devices.wyoming.sound import form_of
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode, read_event

if TYPE_CHECKING:
    from hub.host import IntegrationHost

ALIKE = 0.75
"""How much a room's name is like another one that it may be mistyped from."""
SOURCE = "wyoming"
CONNECT_LIMIT_S = 5.0
PING_EVERY_S = 2.0
SILENCE_LIMIT_S = 8.0
"""One that answers pings is away when nothing came for so long."""
SETTLE_S = 1.0
"""One that is in use by another server ends the connection within this time."""
RETRY_FIRST_S, RETRY_LIMIT_S = 2.0, 30.0
LEAD_S = 0.4
"""So much of a sound is sent ahead of time: what is broken off is silent so soon."""
PLAYED_LIMIT_S = 3.0
"""How much later than expected a satellite that says when it has played a sound may say so."""
CHUNK_BYTES = 2_048
TEXT_LIMIT_CHARS = 1_000
_KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
_log = logging.getLogger(__name__)

AddSatellite = Callable[[Satellite], tuple[Line, Callable[[], Any]]]


class WyomingSatellite:
    """A satellite, connected to for as long as `follow` runs.

    Args:
        config: Its item of `satellites`.
        add: Adds it to the satellites of the home.

    Raises:
        Conflict: There is one with its id.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any], add: AddSatellite) -> None:
        self._host, self._config = host, config
        place = urlsplit(config["url"])
        self._address = place.hostname, place.port or SATELLITE_PORT
        self._id = config.get("id") or id_of(config["url"])
        self._source = f"wyoming {self._id}"
        self._about: Mapping[str, Any] = {}
        self._wakes: Mapping[str, str] = {}
        self._sends_all = False
        self._has_speaker = True
        self._writer: asyncio.StreamWriter | None = None
        self._is_connected = False
        self._is_muted = False
        self._is_open = False
        self._is_triggered = False
        self._says_played = False
        self._answers_pings = False
        self._heard_at = 0.0
        self._word: str | None = None
        self._form: tuple[int, int, int] | None = None
        self._playing = asyncio.Lock()
        self._resampler: Resampler | None = None
        self._played: asyncio.Future[None] | None = None
        self._device_id = self._device()
        self._muted = host.storage(f"muted_{self._id}")
        self._mute = host.entities.add(
            EntityDescription(
                "switch",
                f"{self._id}_mute",
                "Mute",
                f"{self._id}_mute",
                DeviceInfo(frozenset({self._id})),
                icon="mdi:microphone-off",
                entity_category="config",
            ),
            {"turn_on": self._muting(True), "turn_off": self._muting(False)},
        )
        self._line: Line = add(self)[0]

    @property
    def info(self) -> SatelliteInfo:
        """What is known of it now."""
        name = self._config.get("name") or clean(_text(self._about.get("name")), 64) or self._id
        return SatelliteInfo(
            self._id,
            name,
            SOURCE,
            self._device_id,
            wakes_itself=not self._sends_all,
            always_sends=self._sends_all,
            wake_words=tuple(self._wakes.values()),
        )

    async def follow(self) -> None:
        """Stay connected until cancelled."""
        self._is_muted = bool(await self._muted.load(False))
        self._show_mute()
        try:
            await self._keep_connected()
        finally:  # what is configured no more is no trouble
            self._host.repairs.clear(self._source)

    async def _keep_connected(self) -> None:
        pause_s = RETRY_FIRST_S
        while True:
            began_at = self._host.clock.monotonic()
            reason = await self._serve()
            title = phrase("The satellite {name} cannot be reached", name=self.info.name)
            self._host.repairs.raise_(self._source, "connection", title, reason)
            if self._host.clock.monotonic() - began_at > RETRY_LIMIT_S:
                pause_s = RETRY_FIRST_S
            await self._host.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_LIMIT_S)

    async def listen(self) -> None:
        """See `Satellite.listen`."""
        self._require()
        if self._sends_all:
            return
        if not self._about.get("supports_trigger"):
            raise Unavailable(phrase("{name} listens only after its wake word", name=self.info.name))
        self._is_triggered = True
        self._send("run-pipeline", start_stage="asr", end_stage="tts", restart_on_end=False)

    async def play(self, sound: Sound) -> None:
        """See `Satellite.play`."""
        writer = self._require()
        if not self._has_speaker:
            raise Unavailable(phrase("{name} has no loudspeaker", name=self.info.name))
        async with self._playing:
            await self._send_sound(writer, sound)

    async def show(self, stage: Stage, text: str = "") -> None:
        """See `Satellite.show`."""
        match stage:
            case Stage.LISTENING:
                if self._sends_all and not self._is_open:
                    self._send("detection", name=text or None)
                self._is_open = True
                self._send("transcribe")
            case Stage.PROCESSING if not text:
                self._send("voice-stopped")
            case Stage.PROCESSING:
                self._is_open = False
                self._send("transcript", text=text)
            case Stage.RESPONDING if text:
                self._send("synthesize", text=text)
            case Stage.IDLE:
                if text:
                    self._send("error", text=text, code="failed")
                if self._is_open:  # it sends what it hears until it is told a transcript
                    self._send("transcript", text="")
                self._is_open = False

    async def show_timer(self, change: TimerChange, timer: TimerView) -> None:
        """See `CanShowTimers.show_timer`."""
        about: dict[str, Any] = {"id": timer.id}
        if change is TimerChange.STARTED:
            hours, rest = divmod(timer.total_s, 3_600)
            parts = {"start_hours": hours, "start_minutes": rest // 60, "start_seconds": rest % 60}
            about |= {"total_seconds": timer.total_s, "name": timer.name or None, **parts}
        elif change is TimerChange.UPDATED:
            about |= {"total_seconds": timer.left_s, "is_active": timer.is_active}
        self._send(f"timer-{change}", **about)

    async def _send_sound(self, writer: asyncio.StreamWriter, sound: Sound) -> None:
        about = {"rate": sound.rate, "width": 2, "channels": 1}
        bytes_per_s, began_at = 2 * sound.rate, self._host.clock.monotonic()
        self._send("audio-start", **about, timestamp=0)
        try:
            for at in range(0, len(sound.samples), CHUNK_BYTES):
                ahead_s = at / bytes_per_s - (self._host.clock.monotonic() - began_at)
                if ahead_s > LEAD_S:
                    await self._host.clock.sleep(ahead_s - LEAD_S)
                chunk = sound.samples[at : at + CHUNK_BYTES]
                self._send("audio-chunk", chunk, **about, timestamp=1_000 * at // bytes_per_s)
                await self._drained(writer)
                self._require()
        finally:
            self._send("audio-stop")
        left_s = sound.seconds - (self._host.clock.monotonic() - began_at)
        await self._wait_until_played(left_s + (PLAYED_LIMIT_S if self._says_played else LEAD_S))
        self._require()

    async def _drained(self, writer: asyncio.StreamWriter) -> None:
        """Wait until it has taken what was sent; one that takes nothing any more is away."""
        try:
            async with asyncio.timeout(SILENCE_LIMIT_S):
                await writer.drain()
        except TimeoutError:
            writer.transport.abort()
            raise Unavailable(phrase("{url} does not answer", url=self._config["url"])) from None
        except OSError:
            pass  # the reader hears of it too

    async def _serve(self) -> str:
        """Connect, and take what comes until the connection ends; return why it did, for people."""
        url, writer = self._config["url"], None
        pinging: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                reader, writer = await asyncio.open_connection(*self._address, limit=EVENT_LIMIT_BYTES)
                _keep_alive(writer)
                writer.write(encode(WyomingEvent("describe")))
                while (event := await read_event(reader, None)) is not None and event.type != "info":
                    pass
            if event is None:
                return phrase("{url} ended the connection", url=url)
            if not isinstance(event.data.get("satellite"), dict):
                return _no_satellite(url, event.data)
            self._describe(event.data)
            self._writer, self._heard_at = writer, self._host.clock.monotonic()
            self._send("pause-satellite" if self._is_muted else "run-satellite")
            pinging = asyncio.create_task(self._ping(writer))
            while (event := await read_event(reader, None)) is not None:
                self._welcome()
                self._take(event)
            if self._is_silent():
                return phrase("{url} does not answer", url=url)
            if self._is_connected:
                return phrase("{url} ended the connection", url=url)
            return phrase("{url} is in use by another server, such as a Home Assistant", url=url)
        except TimeoutError:
            return phrase("{url} does not answer", url=url)
        except (ValueError, RecursionError, HubError) as error:
            reason = str(error)
            return phrase("what answers at {url} does not speak the Wyoming protocol: {reason}", url=url, reason=reason)
        except (OSError, EOFError) as error:
            return phrase("{url}: {reason}", url=url, reason=str(error) or type(error).__name__)
        finally:
            if pinging is not None:
                pinging.cancel()
            self._lost()
            if writer is not None:
                writer.close()

    def _welcome(self) -> None:
        """It is there, and ours: something came after it was told to run."""
        self._heard_at = self._host.clock.monotonic()
        if not self._is_connected:
            self._is_connected = True
            self._host.repairs.clear(self._source, "connection")
            self._line.connected(is_connected=True)
            self._show_mute()

    def _lost(self) -> None:
        """Forget what was true of the connection; tell it that the hub is going, as far as it hears that."""
        with suppress(HubError):
            self._send("pause-satellite")
        self._writer = None
        self._is_open = self._is_triggered = self._says_played = self._answers_pings = False
        self._word = self._resampler = None
        if self._played is not None and not self._played.done():
            self._played.set_result(None)
        if self._is_connected:
            self._is_connected = False
            self._line.connected(is_connected=False)
            self._show_mute()

    async def _ping(self, writer: asyncio.StreamWriter) -> None:
        self._send("ping")
        await self._host.clock.sleep(SETTLE_S)
        self._welcome()  # older ones answer no pings, and say nothing before they hear something
        while True:
            await self._host.clock.sleep(PING_EVERY_S)
            if self._is_silent():
                writer.transport.abort()
                return
            self._send("ping")

    def _is_silent(self) -> bool:
        return self._answers_pings and self._host.clock.monotonic() - self._heard_at > SILENCE_LIMIT_S

    def _take(self, event: WyomingEvent) -> None:
        data = event.data
        match event.type:
            case "audio-chunk":
                self._hear(event)
            case "ping":
                self._send("pong", text=data.get("text"))
            case "pong":
                self._answers_pings = True
            case "played":
                self._says_played = True
                if self._played is not None and not self._played.done():
                    self._played.set_result(None)
            case "detection":
                name = _text(data.get("name"))
                self._word = self._wakes.get(name, name)
            case "run-pipeline":
                self._run(data)
            case "audio-stop" | "voice-stopped" | "streaming-stopped":
                self._line.end()
            case "transcript" if text := _text(data.get("text")):
                self._line.heard(text)
            case "info":
                self._describe(data)
            case "error":
                _log.warning("%s: %s", self._config["url"], _text(data.get("text")))

    def _hear(self, event: WyomingEvent) -> None:
        if self._word is not None:  # it woke, and says no more about it
            self._wake(self._word)
        form = form_of(event)
        if self._resampler is None or self._form != form:
            self._resampler, self._form = Resampler(*form), form
        if not self._is_muted:
            self._line.feed(self._resampler.feed(event.payload))

    def _run(self, asked: Mapping[str, Any]) -> None:
        """It begins to send what it hears."""
        self._has_speaker = asked.get("end_stage") in (None, "tts")
        begins = asked.get("start_stage")
        self._send_all(begins == "wake")
        if begins == "asr":
            self._wake(self._word or _text(asked.get("wake_word_name")) or None)
        elif begins == "wake":
            self._send("detect")
        elif begins == "tts" and (text := _text(asked.get("announce_text"))):
            self._host.spawn(self._say(text), name=f"say at {self._id}")
        else:
            self._send(
                "error",
                text=f"nothing begins with {begins!r} here; expected wake, asr, or tts with a text",
                code="start_stage",
            )

    async def _say(self, text: str) -> None:
        try:
            await self._host.satellites.registry.say(self._id, text)
        except HubError as error:
            self._send("error", text=error.message, code="tts")

    def _wake(self, word: str | None) -> None:
        self._word, self._is_open = None, True
        if self._is_triggered:  # it was told to listen: it did not wake
            self._is_triggered = False
            return
        if not self._is_muted:
            self._line.wake(word)

    def _send_all(self, sends_all: bool) -> None:
        if sends_all != self._sends_all:
            self._sends_all = sends_all
            self._line.changed()

    def _describe(self, info: Mapping[str, Any]) -> None:
        """Keep what it says of itself."""
        before = self.info
        told = info.get("satellite")
        self._about = told if isinstance(told, dict) else {}
        models = [each for program in _objects(info.get("wake")) for each in _objects(program.get("models"))]
        self._wakes = {
            name: _text(each.get("phrase")) or name for each in models[:50] if (name := _text(each.get("name")))
        }
        self._device_id = self._device()
        if self.info != before:
            self._line.changed()

    def _device(self) -> str:
        """Return its device; the first time that it says where it is, it is put there."""
        registry, area = self._host.entities.registry, self._config.get("area")
        known = DeviceInfo(frozenset({self._id}), name=self._config.get("name"))
        device = registry.device_for(SOURCE, known)
        if self._about:
            told = DeviceInfo(
                known.identifiers,
                name=known.name or _text(self._about.get("name")),
                model=_text(self._about.get("description")) or "Wyoming satellite",
                sw_version=_text(self._about.get("version")),
            )
            if device.model is None and device.area_id is None:
                area = area or clean(_text(self._about.get("area")), 64)
            registry.device_for(SOURCE, told)
        if area and (room := self._room(area)) is not None:
            registry.update("device", device.id, area_id=room)
        return device.id

    def _room(self, area: str) -> str | None:
        """Return the id of a room by its name, a new one if need be; None where the name seems to be mistyped."""
        registry = self._host.entities.registry
        names = {
            name.casefold(): each.id for each in registry.areas.values() for name in (each.id, *each.aliases, each.name)
        }
        known = names.get(area.casefold())
        if known is None and (near := difflib.get_close_matches(area.casefold(), names, n=1, cutoff=ALIKE)):
            meant = registry.areas[names[near[0]]].name
            title = phrase("There is no room {area}", area=area)
            told = phrase(
                "The satellite {name} is in no room. Is {room} meant? Say so in wyoming: satellites: area, or add a "
                "room of that name on the page Devices.",
                name=self._id,
                room=meant,
            )
            self._host.repairs.raise_(self._source, "area", title, told)
            return None
        return known or registry.create("area", area).id

    def _muting(self, is_muted: bool) -> Command:
        async def mute(_: Mapping[str, Any]) -> None:
            await self._muted.save(is_muted)
            self._is_muted = is_muted
            self._show_mute()
            if self._is_connected:
                self._send("pause-satellite" if is_muted else "run-satellite")
            if is_muted:
                self._line.stop()

        return mute

    def _show_mute(self) -> None:
        self._mute.set("on" if self._is_muted else "off")
        self._mute.available(self._is_connected)

    def _require(self) -> asyncio.StreamWriter:
        if self._writer is None or not self._is_connected:
            raise Unavailable(phrase("{name} is away", name=self.info.name))
        return self._writer

    async def _wait_until_played(self, limit_s: float) -> None:
        """Wait until it says so, or as long as the sound lasts."""
        self._played = asyncio.get_running_loop().create_future()
        timer = asyncio.ensure_future(self._host.clock.sleep(limit_s))
        try:
            await asyncio.wait({self._played, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            self._played = None

    def _send(self, type: str, payload: bytes = b"", /, **data: Any) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(WyomingEvent(type, data, payload)))


def _no_satellite(url: str, info: Mapping[str, Any]) -> str:
    """Say what answers in place of a satellite."""
    offered = {"asr": "hears", "tts": "speaks"}
    if any(info.get(each) for each in offered):
        return phrase(
            "{url} is no satellite but a service that hears or speaks: it belongs in models: providers: "
            "with api: wyoming",
            url=url,
        )
    return phrase("{url} is no satellite", url=url)


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Notice within half a minute when the other side has gone without a word."""
    found = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value[:TEXT_LIMIT_CHARS] if isinstance(value, str) else ""
