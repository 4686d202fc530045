"""The last turns at satellites and in talks, and what the hub is told of each."""

from __future__ import annotations

from collections import deque
from typing import Any

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus
from hub.voice.contract import EVENT_STAGE, VoiceTurn
from hub.voice.turn import Outcome, Turn

EVENT_TURN = "voice_turn"
"""Fired when a turn has ended: how long its stages took and what came of it, for the history."""
EVENT_FAILED = "voice_failed"
"""Fired behind that when nothing came of it."""
KEPT = 100


class TurnLog:
    """The turns of the home, wherever somebody speaks."""

    def __init__(self, bus: EventBus, clock: Clock) -> None:
        self._bus, self._clock = bus, clock
        self._turns: deque[Turn] = deque(maxlen=KEPT)

    def begin(self, place: str, name: str, wake_word: str | None = None) -> Turn:
        """Return a turn that begins now.

        Args:
            place: The id of the satellite, or `TALK`.
            name: Of the place, for people.
        """
        return Turn(place, name, self._clock.time(), self._clock.monotonic(), wake_word)

    def mark(self, turn: Turn, stage: str, context: Context, **about: Any) -> None:
        """Note that a turn has reached a stage, and tell the hub, unless it has before."""
        if turn.mark(stage, self._clock.monotonic()) is not None:
            self.tell(turn, stage, about, context)

    def tell(self, turn: Turn, stage: str, about: dict[str, Any], context: Context) -> None:
        """Tell the hub of a stage of a turn; what was said is nobody's words."""
        told = {"satellite": turn.satellite, "turn": turn.id, "stage": stage, "ms": turn.stages.get(stage, 0), **about}
        self._bus.fire(EVENT_STAGE, told, context.tainted())

    def keep(self, turn: Turn) -> None:
        """Keep a turn that has ended, and tell the hub how it went, without its words."""
        self._turns.append(turn)
        told: dict[str, Any] = {"satellite": turn.satellite, "name": turn.name}
        told |= {"run_id": turn.run_id, "outcome": str(turn.outcome), "error": turn.error}
        timed = {"wake_word": turn.wake_word, "began_ms": int(turn.began_at * 1_000), "stages": dict(turn.stages)}
        self._bus.fire(EVENT_TURN, told | timed)
        if turn.outcome is Outcome.FAILED:
            self._bus.fire(EVENT_FAILED, told)

    def all(self, place: str | None = None) -> list[VoiceTurn]:
        """Return the last turns, newest first; of one place, or of all."""
        return [each.view() for each in reversed(self._turns) if place in (None, each.satellite)]
