"""What is heard at one place, be it a satellite or a talk: where speech begins and ends, and its words while it comes.

Something may be spoken there meanwhile. Whoever speaks over it makes it pause; only words end it, and neither noise
nor what is spoken there itself are words. So each place pauses at `SpeechBegan`, and goes on when there is no sound
in `SpeechEnded`, or when `understood` returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hub.core.tasks import TaskOwner
from hub.voice.echo import Echo
from hub.voice.hearing import Hearing, Listen
from hub.voice.segmenter import BEFORE_MS, QUIETEST, Segmenter, SpeechBegan, SpeechEnded
from hub.voice.turn import Turn
from hub.voice.wake import SoundStream

Judge = Callable[[Callable[[float], None]], SoundStream | None]
"""Opens what tells speech from other sounds, if there is any; see `judge_of`."""


class Ear:
    """Hears at one place.

    Args:
        listen: Hears what is said.
        judge: Tells speech from silence, where there is more than the energy to tell it by.
        tell: Gets a turn and the words so far of what is said in it.
        silence_ms: Silence that ends what is said.
    """

    def __init__(
        self, listen: Listen, judge: Judge, tell: Callable[[Turn, str], None], tasks: TaskOwner, *, silence_ms: int
    ) -> None:
        self.echo = Echo()
        self._listen, self._open_judge, self._tell, self._tasks = listen, judge, tell, tasks
        self._segmenter = Segmenter(silence_ms)
        self._judge: SoundStream | None = None

    @property
    def said(self) -> bytes:
        """What somebody who speaks has said until now."""
        return self._segmenter.said()

    def begin(self, silence_ms: int, *, before_ms: int = BEFORE_MS) -> None:
        """Find speech anew, but for the noise that is known; `before_ms` of what comes before it belong to it."""
        self._segmenter = Segmenter(silence_ms, noise=self._segmenter.noise, before_ms=before_ms)

    def attend(self) -> None:
        """Have speech told from silence by more than its energy, until `rest`; it costs something."""
        self.rest()
        self._judge = self._open_judge(self._judged)

    def rest(self) -> None:
        """Tell it by its energy alone."""
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    def feed(self, samples: bytes, *, is_over: bool = False) -> list[SpeechBegan | SpeechEnded]:
        """Take sound, of any length; return what it told, in order.

        Args:
            samples: The sound.
            is_over: Whether something is spoken there just now, above whose echo others have to speak.
        """
        self._segmenter.floor = self.echo.floor if is_over else QUIETEST
        if self._judge is not None:
            self._judge.feed(samples)
        return self._segmenter.feed(samples)

    def hear(self, turn: Turn) -> None:
        """Hear in a turn what is being said, as far as it was not before."""
        if self._segmenter.speaking:
            hearing = self._hearing(turn)
            hearing.feed(self._segmenter.said(hearing.size_bytes), is_quiet=self._segmenter.is_quiet)

    def hear_all(self, turn: Turn, samples: bytes) -> None:
        """Hear sound in a turn, whether it is speech or not."""
        self._hearing(turn).feed(samples)

    async def understood(self, turn: Turn, said: bytes | str) -> str:
        """Return the words of what was said in a turn; empty for noise, and for what is spoken there itself.

        Args:
            turn: One that was begun over something that is spoken there is nothing if it was only heard again.
            said: All of the sound, or what the device understood itself.

        Raises:
            HubError: It could not be heard.
        """
        text = said if isinstance(said, str) else (await self._hearing(turn).text(said)).strip()
        is_said = any(map(str.isalnum, text)) and not (turn.is_barge_in and self.echo.has(text))
        if not is_said and turn.is_barge_in and isinstance(said, bytes):
            self.echo.mistaken(said)
        return text if is_said else ""

    def _hearing(self, turn: Turn) -> Hearing:
        turn.hearing = turn.hearing or Hearing(self._listen, partial(self._tell, turn), self._tasks)
        return turn.hearing

    def _judged(self, probability: float) -> None:
        self._segmenter.judge(probability)  # that of the present turn
