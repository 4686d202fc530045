"""What a model says and thinks, published piece by piece and without secrets."""

from __future__ import annotations

from hub.agent.run import AgentRun
from hub.core.events import EventBus
from hub.security.redaction import RedactedPieces, Redactor

SAID = "run_delta"
THOUGHT = "run_thinking"


class Deltas:
    """Fires `run_delta` and `run_thinking` of a run; what may be the beginning of a secret waits for the next piece."""

    __slots__ = ("_bus", "_pieces", "_run", "_so_far", "_type")

    def __init__(self, bus: EventBus, redactor: Redactor, run: AgentRun) -> None:
        self._bus = bus
        self._run = run
        self._pieces = RedactedPieces(redactor)
        self.begin()

    def begin(self) -> None:
        """Begin another text; nothing of the one before is shown any more."""
        self._pieces.end()
        self._type, self._so_far = SAID, 0

    def add(self, type: str, text: str) -> None:
        """Publish a piece of what is said or thought.

        Args:
            type: SAID or THOUGHT.
        """
        if type != self._type:
            self.end()
            self._type = type
        self._fire(self._pieces.add(text))

    def end(self) -> None:
        """Publish what waits: no more comes."""
        self._fire(self._pieces.end())

    def _fire(self, text: str) -> None:
        if not text:
            return
        run = self._run
        data = {**run.facts, "text": text}
        if self._type == SAID:
            self._so_far += len(text)
            data["so_far_chars"] = self._so_far
        self._bus.fire(self._type, data, run.context)
