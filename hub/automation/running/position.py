"""Where a run stands, so that it can be taken up again after a restart; and what keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from hub.automation.running.run import Run


class Position(Struct):
    """Where a run stands, so that it can be taken up again.

    Attributes:
        states: Path of a step or a sequence → what it is at: an index, a deadline, the branch that was chosen.
        scopes: Path of a step → the variables of the scope it opened.
        counts: Path of a service call → how often it was made.
        attempt: How often it began anew after a failure.
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
        """Whether a step of it was begun, in this attempt or one before."""
        return bool(self.states or self.attempt or self.error)

    def begin_again(self) -> None:
        """Forget where it stood: the next attempt begins with the first step."""
        self.states.clear()
        self.scopes.clear()

    def leave(self, path: str) -> None:
        """Forget what lies at and below a path: it is behind the run."""
        below = f"{path}/"
        for table in (self.states, self.scopes):
            for key in [key for key in table if key == path or key.startswith(below)]:
                del table[key]


class TakenUp(Struct, frozen=True):
    """A run that goes on after a restart: its id, where it stood, and when it began (seconds since the epoch)."""

    id: str
    position: Position
    started: float


class Keeper(Protocol):
    """Keeps runs, so that they survive a restart."""

    async def save(self, run: Run) -> None:
        """Return once the disk has the run as it stands now."""
        ...

    async def forget(self, run_id: str) -> None:
        """The run has ended."""
        ...
