"""A Wyoming service that finds wake words, such as wyoming-openwakeword: one connection for each satellite."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.voice.contract import BYTES_PER_S, RATE
from hub.voice.wake import SoundStream, WakeHeard, WakeWord
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode, read_event

_log = logging.getLogger(__name__)

CONNECT_LIMIT_S = 5.0
WRITE_LIMIT_S = 10.0
SILENT_LIMIT_S = 3_600.0
"""A connection on which nothing was found for so long is renewed: it may lead nowhere any more."""
RETRY_S = 10.0
PENDING_BYTES = 2 * BYTES_PER_S
"""Of what is not sent yet, of one satellite; what is older is dropped."""
FORM = {"rate": RATE, "width": 2, "channels": 1}


class WyomingWake:
    """The service at an address; see `hub.voice.wake.WakeEngine`.

    Args:
        url: tcp://host:port.
        spawn: Starts a task that ends with the integration.
    """

    def __init__(self, url: str, clock: Clock, spawn: Callable[..., asyncio.Task[None]]) -> None:
        self.name = url
        self._place = urlsplit(url)
        self._clock = clock
        self._spawn = spawn

    async def words(self) -> Sequence[WakeWord]:
        """Return what the service says that it finds; see `WakeEngine.words`.

        Raises:
            Unavailable: It cannot be reached, or is no such service.
        """
        info: WyomingEvent | None = None
        try:
            async with self.connected() as (reader, writer):
                writer.write(encode(WyomingEvent("describe")))
                while info is None or info.type != "info":
                    if (info := await read_event(reader, CONNECT_LIMIT_S)) is None:
                        raise EOFError("it closed the connection")
            programs = info.data.get("wake") or ()
            found = [_word(model) for each in programs for model in each.get("models") or () if model.get("installed")]
        except (OSError, EOFError, TimeoutError) as error:
            raise Unavailable(phrase("{url} does not answer: {error}", url=self.name, error=_why(error))) from error
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise Unavailable(phrase("{url} is no Wyoming service", url=self.name)) from error
        if not found:
            raise Unavailable(phrase("{url} finds no wake words", url=self.name))
        return found

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> SoundStream:
        """Listen to a satellite; see `WakeEngine.open`. How sensitive it is, the service itself is told."""
        return _Stream(self, satellite, words, heard, self._clock, self._spawn)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection.

        Raises:
            OSError, TimeoutError: It cannot be reached.
        """
        async with asyncio.timeout(CONNECT_LIMIT_S):
            reader, writer = await asyncio.open_connection(
                self._place.hostname, self._place.port, limit=EVENT_LIMIT_BYTES
            )
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Stream:
    """The sound of one satellite, on a connection that is opened again when it breaks."""

    def __init__(
        self,
        service: WyomingWake,
        satellite: str,
        words: Sequence[str],
        heard: WakeHeard,
        clock: Clock,
        spawn: Callable[..., asyncio.Task[None]],
    ) -> None:
        self._service, self._satellite, self._clock = service, satellite, clock
        self._words, self._heard = tuple(words), heard
        self._pending = bytearray()
        self._fed = asyncio.Event()
        self._dropped = 0
        self._task = spawn(self._run(), name=f"find wake words of {satellite} at {service.name}")

    def feed(self, samples: bytes) -> None:
        self._pending += samples
        if (excess := len(self._pending) - PENDING_BYTES) > 0:
            excess += excess % 2
            del self._pending[:excess]
            self._dropped += excess
        self._fed.set()

    def close(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._talk()
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                _log.warning(
                    "wake words of %s are not found: %s: %s; it is tried again in %g s",
                    self._satellite, self._service.name, _why(error), RETRY_S,
                )  # fmt: skip
            await self._clock.sleep(RETRY_S)

    async def _talk(self) -> None:
        """Send the sound, and take what is found, until the connection breaks."""
        async with self._service.connected() as (reader, writer):
            for event in (WyomingEvent("detect", {"names": list(self._words)}), WyomingEvent("audio-start", FORM)):
                writer.write(encode(event))
            await _either(self._listen(reader), self._send(writer))

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await self._fed.wait()
            self._fed.clear()
            whole = len(self._pending) - len(self._pending) % 2
            writer.write(encode(WyomingEvent("audio-chunk", FORM, bytes(self._pending[:whole]))))
            del self._pending[:whole]
            async with asyncio.timeout(WRITE_LIMIT_S):
                await writer.drain()
            if self._dropped:
                seconds, self._dropped = self._dropped / BYTES_PER_S, 0
                _log.warning(
                    "%s was too slow: %.1f s of what %s heard were dropped",
                    self._service.name, seconds, self._satellite,
                )  # fmt: skip

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (event := await read_event(reader, SILENT_LIMIT_S)) is not None:
            if event.type == "error":
                raise ValueError(str(event.data.get("text"))[:300])
            word = event.data.get("name") or self._words[0]
            if event.type == "detection" and word in self._words:  # some services find more than they were asked to
                self._heard(str(word), bytes(self._pending))
        raise EOFError("it closed the connection")


async def _either(*work: Coroutine[Any, Any, None]) -> None:
    """Do work until one ends, and raise what it raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _word(model: Any) -> WakeWord:
    languages = tuple(str(each) for each in model.get("languages") or ())
    return WakeWord(str(model["name"]), str(model.get("phrase") or model["name"]), languages)


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
