"""The position of a run, from which it resumes after a restart."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class Position(Struct):
    """The position of a run, from which it can be resumed.

    Attributes:
        states: Path of a step or a sequence → its state: an index, a deadline, the chosen branch.
        scopes: Path of a step → the variables of the scope it opened.
        counts: Path of a service call → how often it was made.
        attempt: How often it began again after a failure.
        retry_at: When the next attempt is due, seconds since the epoch.
        begun: The variables that each attempt begins with; kept only where there may be several.
        error: What the steps of `on_error` see, once they run.
    """

    states: dict[str, Any] = field(default_factory=dict)
    scopes: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    attempt: int = 0
    retry_at: float | None = None
    begun: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def is_begun(self) -> bool:
        """Whether any step was begun, in this attempt or an earlier one."""
        return bool(self.states or self.attempt or self.error)

    def begin_again(self) -> None:
        """Reset the position: the next attempt begins with the first step."""
        self.states.clear()
        self.scopes.clear()

    def leave(self, path: str) -> None:
        """Drop the states at and below a path that the run has left."""
        below = f"{path}/"
        for table in (self.states, self.scopes):
            for key in [key for key in table if key == path or key.startswith(below)]:
                del table[key]


class TakenUp(Struct, frozen=True):
    """A run to resume after a restart: its id, its position, and its start (seconds since the epoch)."""

    id: str
    position: Position
    started: float
