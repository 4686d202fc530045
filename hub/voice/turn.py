"""One turn at a satellite or in a talk: what was said there, and what comes of it."""

from __future__ import annotations

import asyncio
import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from hub.core.ids import new_id
from hub.voice.contract import VoiceTurn
from hub.voice.segmenter import QUIETEST, powers_of

if TYPE_CHECKING:
    from hub.voice.hearing import Hearing

SILENCE_S = 8.0
"""Nobody speaks any more who has not begun to."""
LONGEST_S = 70.0
_NOT_WORDS = re.compile(r"[^\w\s]+")
STOP_WORDS = frozenset(
    {
        *("stop", "stop it", "please stop", "be quiet", "quiet", "cancel", "shut up", "enough", "silence"),
        *("停", "停止", "停下", "停一下", "别说了", "不要说了", "够了", "安静", "闭嘴", "取消"),
    }
)


class Outcome(StrEnum):
    """What came of a turn."""

    ANSWERED = "answered"
    SILENCE = "silence"
    NOISE = "noise"
    INTERRUPTED = "interrupted"
    ELSEWHERE = "elsewhere"
    FAILED = "failed"


class Turn:
    """A turn that goes on.

    Attributes:
        satellite: Its id, or `TALK`.
        name: Of the place, for people.
        wake_word: None if it began without one.
        is_follow_up: Whether it was begun from here, to hear an answer.
        is_barge_in: Whether it was begun by something like speech while an answer was spoken.
        is_between_rings: Whether it only hears what is said to something that rings; nobody is told of it.
        patience_s: How long it is waited for somebody to begin to speak.
        longest_s: How long it hears at most.
        task: What goes on in it.
        said: What was heard: sound, or words that the device understood; None for nothing.
        hearing: Hears what is said; None before it was begun.
        is_speech: Whether somebody has begun to speak.
        loudest, quietest: The greatest and the least mean power of 20 ms that was heard.
        understood: Set when it is known what was said, or that nothing was.
        question: Gets what was answered to a question of the hub's; then no agent hears it.
        prompt: What the agent is told beside what was said.
        is_run_over: Whether the run that answers has ended; something of it may wait to be sent.
        is_over: Whether no more of the answer comes.
        complete: Set when all of the answer has been said.
        spoken: The texts that were said, and of the last one what was heard.
    """

    def __init__(self, satellite: str, name: str, now: float, monotonic: float, wake_word: str | None) -> None:
        self.id = new_id()
        self.satellite, self.name = satellite, name
        self.began_at = now
        self.began = monotonic
        self.wake_word = wake_word
        self.is_follow_up = self.is_barge_in = self.is_between_rings = False
        self.patience_s, self.longest_s = SILENCE_S, LONGEST_S
        self.task: asyncio.Task[None] | None = None
        self.said: asyncio.Future[bytes | str | None] = asyncio.get_running_loop().create_future()
        self.hearing: Hearing | None = None
        self.is_speech = False
        self.loudest, self.quietest = 0.0, math.inf
        self.understood = asyncio.Event()
        self.question: asyncio.Future[str] | None = None
        self.prompt = ""
        self.run_id: str | None = None
        self.is_run_over = self.is_over = False
        self.complete = asyncio.Event()
        self.stages: dict[str, int] = {}
        self.text = ""
        self.answer: list[str] = []
        self.outcome: Outcome | None = None
        self.error = ""

    @property
    def is_listening(self) -> bool:
        """Whether it still hears."""
        return not self.said.done() and self.outcome is None

    @property
    def clearness(self) -> float:
        """How much louder it was than the noise there, as a ratio of powers; it only rises."""
        return self.loudest / max(self.quietest, QUIETEST)

    def weigh(self, samples: bytes) -> None:
        """Note how loud something is that was heard in it."""
        powers = powers_of(samples)
        self.loudest, self.quietest = max([self.loudest, *powers]), min([self.quietest, *powers])

    def mark(self, stage: str, monotonic: float) -> int | None:
        """Note that a stage was reached; return its milliseconds since the beginning, None if it was before."""
        if stage in self.stages:
            return None
        self.stages[stage] = max(0, round((monotonic - self.began) * 1_000))
        return self.stages[stage]

    def hear(self, said: bytes | str | None) -> None:
        """Take what was said, unless it is known."""
        if not self.said.done():
            self.said.set_result(said)

    def hear_no_more(self) -> None:
        """Let go of what is being heard."""
        if self.hearing is not None:
            self.hearing.close()

    def view(self) -> VoiceTurn:
        """Return it as others see it."""
        return VoiceTurn(
            id=self.id,
            satellite=self.satellite,
            name=self.name,
            began_at=self.began_at,
            stages=dict(self.stages),
            wake_word=self.wake_word,
            text=self.text,
            answer="\n".join(self.answer),
            outcome=self.outcome.value if self.outcome is not None else "",
            error=self.error,
            run_id=self.run_id,
        )


def is_stop(words: str | None) -> bool:
    """Whether words, or a wake word, mean nothing but that it should be silent."""
    return " ".join(_NOT_WORDS.sub(" ", (words or "").replace("_", " ")).split()).casefold() in STOP_WORDS


def asks_back(answer: str) -> bool:
    """Whether an answer ends with a question."""
    return answer.rstrip(" \n\t*_\"'”’」』)）").endswith(("?", "？"))
