"""Wake words and speech, found on this machine: the sound of all satellites goes to one process, as it comes.

When the process crashes it is started again, with all streams; when it lags, sound is dropped and that is told.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.tasks import TaskOwner
from hub.voice.contract import BYTES_PER_S
from hub.voice.segmenter import PCM, QUIETEST
from hub.voice.wake import SoundStream, WakeHeard, WakeWord
from integrations.models.voice.catalogue import WAKE_WORDS
from integrations.models.voice.engine_process import WORKER, EngineProcess
from integrations.models.voice.installed import WAKE, VoiceFolder

_log = logging.getLogger(__name__)

PAUSE_S = 0.04
"""Between requests, in which sound gathers: half the delay that this adds to a word."""
PENDING_BYTES = 2 * BYTES_PER_S
"""Of one stream; what is older is dropped."""
PIECE_BYTES = 1_024
"""32 ms, as satellites send them."""
ANSWER_S = 10.0
IDLE_S = 60.0
WAITS_S = (1.0, 5.0, 30.0, 60.0)
"""After one failure, two, and so on."""
TOLD_EVERY_S = 60.0
_Found = Callable[[str, float, bytes], None]
"""Called with a word, or an empty one for speech, how likely it is, and what came in since."""


class WakeProcess:
    """The engine; see `hub.voice.wake.WakeEngine` and `CanJudgeSpeech`.

    Args:
        command: How the process is started, before its kind; None is the Python of what is installed.
    """

    def __init__(self, folder: VoiceFolder, clock: Clock, command: Sequence[str] | None = None) -> None:
        self.name: str = phrase("this machine")
        self._folder = folder
        self._clock = clock
        self._tasks = TaskOwner("wake words")
        self._command = command
        self._streams: dict[str, _Stream] = {}
        self._closed: list[str] = []
        self._ids = itertools.count(1)
        self._fed = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._process: EngineProcess | None = None
        self._lag_told_at = -TOLD_EVERY_S
        self.dropped_bytes = 0
        """Of all streams, since the engine was made."""

    async def words(self) -> Sequence[WakeWord]:
        """Return what is known; see `WakeEngine.words`.

        Raises:
            Unavailable: Nothing is installed.
        """
        if self._command is None and not await FILES.run(self._folder.has, WAKE):
            raise Unavailable(phrase("nothing finds wake words here: `homarus voice install wake`"))
        return WAKE_WORDS

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> SoundStream:
        """Listen for words; see `WakeEngine.open`."""
        about = {"words": list(words), "sensitivity": sensitivity}
        return self._open(satellite, about, lambda word, _, since: heard(word, since))

    def judge(self, satellite: str, judged: Callable[[float], None]) -> SoundStream:
        """Tell speech from other sounds; see `CanJudgeSpeech.judge`."""
        stream = self._open(satellite, {}, lambda _, likely, since: judged(likely))
        if self._command is None and not self._folder.has(WAKE):
            stream.close()
        return stream

    async def close(self) -> None:
        """End the process and all streams."""
        self._streams.clear()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})
        if self._process is not None:
            await self._process.close()
        await self._tasks.cancel_all()

    def _open(self, satellite: str, about: dict[str, Any], found: _Found) -> SoundStream:
        stream = _Stream(self, str(next(self._ids)), satellite, about, found)
        self._streams[stream.id] = stream
        return stream

    @property
    def process_id(self) -> int | None:
        """The id of the process, if it runs."""
        return self._process.process_id if self._process is not None else None

    def now(self) -> float:
        """Return the seconds of its clock."""
        return self._clock.monotonic()

    def has_sound(self) -> None:
        """Go on, since there is sound."""
        self._fed.set()
        if self._pump is None and not self._tasks.closed:
            self._pump = self._tasks.spawn(self._run(), name="find wake words")

    def drop(self, satellite: str, size: int) -> None:
        """Count sound that is not listened to, and tell of it now and then."""
        self.dropped_bytes += size
        if self._clock.monotonic() - self._lag_told_at >= TOLD_EVERY_S:
            self._lag_told_at = self._clock.monotonic()
            _log.warning(
                "wake words: this machine is too slow, or what finds them does not run: %s is not listened to for %.1f "
                "s of sound so far",
                satellite,
                self.dropped_bytes / BYTES_PER_S,
            )

    def forget(self, stream: _Stream) -> None:
        """Close a stream."""
        if self._streams.pop(stream.id, None) is not None:
            self._closed.append(stream.id)

    async def _run(self) -> None:
        failures = 0
        while True:
            await self._fed.wait()
            self._fed.clear()
            try:
                await self._pass_on()
            except HubError as error:
                wait_s = WAITS_S[min(failures, len(WAITS_S) - 1)]
                failures += 1
                _log.warning("wake words are not found for %g s: %s", wait_s, error.message)
                await self._clock.sleep(wait_s)
            else:
                failures = 0
                await self._clock.sleep(PAUSE_S)

    async def _pass_on(self) -> None:
        """Pass on the sound that there is, and tell what is found in it."""
        fed = {each.id: each for each in self._streams.values() if each.pending}
        if not fed:
            return
        closed, self._closed = self._closed, []
        sounds = {id: each.take() for id, each in fed.items()}
        head = {
            "streams": {id: each.about for id, each in fed.items()},
            "sizes": {id: len(sound) for id, sound in sounds.items()},
            "closed": closed,
        }
        answer, _ = await self._engine().ask(head, b"".join(sounds.values()))
        for id, word, likely, at in answer.get("found", ()):
            if (stream := self._streams.get(id)) is not None:
                stream.found(str(word), float(likely), sounds[id][int(at) :] + stream.pending)

    def _engine(self) -> EngineProcess:
        if self._process is None:
            command = self._command or (str(self._folder.python_of(WAKE)), "-I", str(WORKER))
            self._process = EngineProcess(
                "what finds wake words",
                (*command, "wake", "", "1"),
                self._clock,
                self._tasks,
                timeout_s=ANSWER_S,
                idle_s=IDLE_S,
            )
        return self._process


async def delay_s(engine: WakeProcess, word: str, samples: bytes) -> float | None:
    """Play samples in which a word is said to an engine, as fast as they are spoken.

    Returns:
        How many seconds after the last of the sound that is loud the word was heard; None if it was not.
    """
    runs, heard = asyncio.Event(), asyncio.Event()
    trial = engine.judge("test", lambda _: runs.set())
    trial.feed(bytes(PIECE_BYTES))
    async with asyncio.timeout(ANSWER_S):
        await runs.wait()
    trial.close()
    stream = engine.open("test", [word], 0.5, lambda word, since: heard.set())
    before = bytes(2 * BYTES_PER_S)
    pieces = before + samples + before
    loud = [at for at in range(0, len(samples), PCM.frame_bytes) if _is_loud(samples[at : at + PCM.frame_bytes])]
    ends_s = (len(before) + max(loud, default=0)) / BYTES_PER_S
    begun = engine.now()
    try:
        for at in range(0, len(pieces), PIECE_BYTES):
            await asyncio.sleep(max(0.0, begun + at / BYTES_PER_S - engine.now()))
            if heard.is_set():
                return max(0.0, engine.now() - begun - ends_s)
            stream.feed(pieces[at : at + PIECE_BYTES])
    finally:
        stream.close()
    return None


def _is_loud(frame: bytes) -> bool:
    return len(frame) == PCM.frame_bytes and PCM.power(frame) > QUIETEST


class _Stream:
    """The sound of one satellite that was not passed on yet."""

    def __init__(
        self,
        engine: WakeProcess,
        id: str,
        satellite: str,
        about: dict[str, Any],
        found: _Found,
    ) -> None:
        self.id = id
        self.about = about
        self.found = found
        self.pending = bytearray()
        self._engine = engine
        self._satellite = satellite
        self._is_open = True

    def feed(self, samples: bytes) -> None:
        if not self._is_open:
            return
        self.pending += samples
        if (excess := len(self.pending) - PENDING_BYTES) > 0:
            excess += excess % 2
            del self.pending[:excess]
            self._engine.drop(self._satellite, excess)
        self._engine.has_sound()

    def take(self) -> bytes:
        """Return what there is, by whole samples."""
        whole = len(self.pending) - len(self.pending) % 2
        taken = bytes(self.pending[:whole])
        del self.pending[:whole]
        return taken

    def close(self) -> None:
        self._is_open = False
        self._engine.forget(self)
