"""Repairs: open problems of this home, and how to fix them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hub.core.events import EventBus

_log = logging.getLogger(__name__)

EVENT_REPAIRS_CHANGED = "repairs_changed"
REPAIR_LIMIT = 500


class Severity(StrEnum):
    """The severity of a repair."""

    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class RepairFix:
    """A known change that mends a problem: a method of the gateway, called as whoever asks for it.

    Attributes:
        label: What it does, for its button.
    """

    method: str
    params: Mapping[str, Any]
    label: str


@dataclass(frozen=True, slots=True)
class Repair:
    """A problem that the owner should know about and can fix.

    Attributes:
        id: Stable within its source, so that raising it again replaces it.
        source: The part or integration that raised it.
        severity: Its severity.
        title: One line.
        text: What happened, where, and what to do.
        command: A command that fixes it, when there is one.
        location: File, line and key path in the configuration, when it is there.
        fix: What mends it, where that is a known change.
        raised_at: Seconds since the epoch.
    """

    id: str
    source: str
    severity: Severity
    title: str
    text: str = ""
    command: str | None = None
    location: Mapping[str, Any] | None = None
    raised_at: float = field(default=0.0, compare=False)
    fix: RepairFix | None = field(default=None, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The repair as plain data."""
        return {
            "id": self.id,
            "source": self.source,
            "severity": self.severity.value,
            "title": self.title,
            "text": self.text,
            "command": self.command,
            "location": dict(self.location) if self.location else None,
            "fix": self.fix.label if self.fix else None,
            "raised_at": self.raised_at,
        }


class Repairs:
    """The open repairs; logs each that is new, and fires `repairs_changed` when one is raised or cleared."""

    def __init__(self, bus: EventBus, wall_time: Callable[[], float] = time.time) -> None:
        self._bus = bus
        self._wall_time = wall_time
        self._open: dict[tuple[str, str], Repair] = {}
        self.ignored: frozenset[tuple[str, str, str]] = frozenset()
        """Source, id and title of those that a person does not want to see."""

    def raise_(
        self,
        source: str,
        id: str,
        title: str,
        text: str = "",
        *,
        severity: Severity = Severity.ERROR,
        command: str | None = None,
        location: Mapping[str, Any] | None = None,
        fix: RepairFix | None = None,
    ) -> Repair:
        """Open a repair, or replace the one of this source and id."""
        repair = Repair(id, source, severity, title, text, command, location, self._wall_time(), fix)
        old = self._open.get((source, id))
        if old == repair:
            return old
        if old is None and len(self._open) >= REPAIR_LIMIT:
            del self._open[next(iter(self._open))]
        self._open[(source, id)] = repair
        if old is None or old.title != title:
            level = logging.WARNING if severity is Severity.WARNING else logging.ERROR
            _log.log(level, "%s: %s: %s", source, title, text) if text else _log.log(level, "%s: %s", source, title)
        self._bus.fire(EVENT_REPAIRS_CHANGED, {"source": source, "id": id, "open": True})
        return repair

    def clear(self, source: str, id: str | None = None) -> int:
        """Close one repair of a source, or all of them; return how many were open."""
        keys = [key for key in self._open if key[0] == source and (id is None or key[1] == id)]
        for key in keys:
            del self._open[key]
            self._bus.fire(EVENT_REPAIRS_CHANGED, {"source": key[0], "id": key[1], "open": False})
        return len(keys)

    def get(self, source: str, id: str) -> Repair | None:
        """Return an open repair, or None."""
        return self._open.get((source, id))

    def is_ignored(self, repair: Repair) -> bool:
        """Whether a person does not want to see it; one that says something else by now is seen again."""
        return (repair.source, repair.id, str(repair.title)) in self.ignored

    def ignore(self, ignored: Iterable[tuple[str, str, str]]) -> None:
        """Replace those that a person does not want to see, each by source, id and title."""
        self.ignored = frozenset(ignored)
        self._bus.fire(EVENT_REPAIRS_CHANGED, {"source": "", "id": "", "open": True})

    def all(self) -> list[Repair]:
        """Return the open repairs, the worst first, then the oldest."""
        rank = {Severity.CRITICAL: 0, Severity.ERROR: 1, Severity.WARNING: 2}
        return sorted(self._open.values(), key=lambda repair: (rank[repair.severity], repair.raised_at))
