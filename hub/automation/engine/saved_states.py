"""The saved state of each automation: whether it is on, its last run, its handled occurrences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from hub.core.clock import Clock
from hub.core.phrases import Phrase, phrase_from_data
from hub.core.sql import SqlConnection, upsert
from hub.core.tasks import TaskOwner
from hub.storage.database import Database

FLUSH_DELAY_S = 2.0
"""What may be lost in a crash (when it last ran, how often it failed) is written this much later, for all at once."""

STOPPED = "automations_stopped_ms"

_PUT_STOPPED = upsert("meta", "key, value")
_PUT_STATE = upsert(
    "automation_state", "id, enabled, last_triggered_ms, failures, paused_reason, schedules, updated_ms"
)

Write = Callable[[SqlConnection], None]


class SavedStates(Struct):
    """The saved state of one automation.

    Attributes:
        enabled: A person's last choice; None without one.
        last_triggered: Seconds since the epoch.
        failures: How many runs failed since the last that did not.
        paused_reason: Why it paused itself.
        armed: When each of its schedules started to count, by the trigger's own key; seconds since the epoch.
        handled: Planned time of the last occurrence of each that was handled.
    """

    enabled: bool | None = None
    last_triggered: float | None = None
    failures: int = 0
    paused_reason: str | None = None
    armed: dict[str, float] = field(default_factory=dict)
    handled: dict[str, float] = field(default_factory=dict)


class KeptStates:
    """Keeps the states in memory and, with a delay, in the hub database.

    Args:
        tasks: Owner of the task that writes.
    """

    def __init__(self, db: Database, clock: Clock, tasks: TaskOwner) -> None:
        self._db = db
        self._clock = clock
        self._tasks = tasks
        self._states: dict[str, SavedStates] = {}
        self._dirty: set[str] = set()
        self._flushing = False
        self.stopped: float | None = None
        """When the hub was stopped in good order, until the start is over; None behind a crash."""
        self.asked: Mapping[str, float] = {}
        """When each automation that came through the door was asked for; seconds since the epoch."""

    async def open(self) -> None:
        """Load the saved states."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, enabled, last_triggered_ms, failures, paused_reason, schedules FROM automation_state"
            ).fetchall()
        )
        for id, enabled, last_ms, failures, paused, schedules in rows:
            kept = json.loads(schedules or "{}")
            self._states[id] = SavedStates(
                None if enabled is None else bool(enabled),
                None if last_ms is None else last_ms / 1000,
                failures,
                phrase_from_data(paused, kept.get("paused")) if paused else None,
                _times(kept.get("armed")),
                _times(kept.get("handled")),
            )
        self.stopped = await self._db.write(_take_stopped)

    async def close(self) -> None:
        """Write pending changes, and the time until which everything was seen."""
        await self.flush()
        now_ms = str(int(self._clock.time() * 1000))
        await self._db.write(lambda connection: connection.execute(_PUT_STOPPED, (STOPPED, now_ms)))

    async def flush(self) -> None:
        """Write pending changes; on disk when this returns."""
        if self._dirty:
            await self._db.write(self._writing(self._take_dirty()))

    def of(self, id: str) -> SavedStates:
        """Return the saved state of an automation; after changing it, call `mark_changed` or `write`."""
        kept = self._states.get(id)
        if kept is None:
            kept = self._states[id] = SavedStates()
        return kept

    def mark_changed(self, id: str) -> None:
        """Mark the state of an automation as changed, and write all marked ones soon."""
        self._dirty.add(id)
        if not self._flushing:
            self._flushing = True
            self._tasks.spawn(self._flush_later(), name="keep the states of automations")

    async def write(self, id: str, also: Write | None = None) -> None:
        """Write now, with `also` in the same transaction; on disk when this returns."""
        self._dirty.discard(id)
        writing = self._writing([id])

        def both(connection: SqlConnection) -> None:
            writing(connection)
            if also is not None:
                also(connection)

        await self._db.write(both)

    async def forget(self, ids: Iterable[str]) -> None:
        """Delete the states of automations that no longer exist."""
        gone = [id for id in ids if self._states.pop(id, None) is not None]
        self._dirty.difference_update(gone)
        if gone:
            await self._db.write(
                lambda connection: connection.executemany(
                    "DELETE FROM automation_state WHERE id = ?", [(id,) for id in gone]
                )
            )

    def ids(self) -> set[str]:
        """Return the ids of all saved states."""
        return set(self._states)

    async def _flush_later(self) -> None:
        try:
            await self._clock.sleep(FLUSH_DELAY_S)
        finally:
            self._flushing = False
        await self.flush()

    def _take_dirty(self) -> list[str]:
        dirty = sorted(self._dirty)
        self._dirty.clear()
        return dirty

    def _writing(self, ids: Iterable[str]) -> Write:
        rows = [self._row(id, self._states[id]) for id in ids if id in self._states]

        def write(connection: SqlConnection) -> None:
            connection.executemany(_PUT_STATE, rows)

        return write

    def _row(self, id: str, kept: SavedStates) -> tuple[object, ...]:
        return (
            id,
            None if kept.enabled is None else int(kept.enabled),
            None if kept.last_triggered is None else int(kept.last_triggered * 1000),
            kept.failures,
            kept.paused_reason,
            json.dumps({"armed": kept.armed, "handled": kept.handled, "paused": _phrased(kept.paused_reason)}),
            int(self._clock.time() * 1000),
        )


def as_moment(seconds: float | None) -> datetime | None:
    """Return a time as a datetime for templates; None for never."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _phrased(text: str | None) -> dict[str, Any] | None:
    return text.as_data() if isinstance(text, Phrase) else None


def _times(stored: Any) -> dict[str, float]:
    return {str(key): float(when) for key, when in (stored or {}).items()}


def _take_stopped(connection: SqlConnection) -> float | None:
    """Return when the hub was last stopped cleanly, and forget it: the next end may be a crash."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (STOPPED,)).fetchone()
    connection.execute("DELETE FROM meta WHERE key = ?", (STOPPED,))
    return None if row is None else int(row[0]) / 1000
