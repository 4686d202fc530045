"""The status of an automation, as lists, the gateway and the CLI show it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict


class AutomationStatus(Struct, frozen=True):
    """An automation as lists show it; times in seconds since the epoch.

    Attributes:
        state: on, off or unavailable.
        current: How many runs are active.
        error: Why it is unavailable, or which of its parts does not work.
        location: Its file, line and column.
    """

    id: str
    alias: str
    entity_id: str
    state: str
    mode: str
    current: int
    last_triggered: float | None
    next_run: float | None
    error: str | None
    failures: int = 0
    paused: str | None = None
    description: str = ""
    made_by: str | None = None
    blueprint: str | None = None
    location: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The status as the gateway and the CLI show it; times in ISO 8601."""
        shown = asdict(self)
        for key in ("last_triggered", "next_run"):
            shown[key] = _iso(shown[key])
        return shown | {"location": dict(self.location) if self.location else None}


class BrokenAutomation(Struct, frozen=True):
    """An automation that is unavailable, and why."""

    id: str
    alias: str
    entity_id: str
    error: str
    location: Mapping[str, Any] | None
    item: Any

    def status(self) -> AutomationStatus:
        """Return its status for lists."""
        return AutomationStatus(
            id=self.id,
            alias=self.alias,
            entity_id=self.entity_id,
            state="unavailable",
            mode="single",
            current=0,
            last_triggered=None,
            next_run=None,
            error=self.error,
            location=self.location,
        )


def _iso(when: float | None) -> str | None:
    return None if when is None else datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
