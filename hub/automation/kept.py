"""What is kept of each automation over a restart: whether it is on, when it ran, what its schedules have handled."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.storage.database import Database

FLUSH_DELAY_S = 2.0
"""What may be lost in a crash (when it last ran, how often it failed) is written this much later, for all at once."""

Write = Callable[[sqlite3.Connection], None]


@dataclass(slots=True)
class Kept:
    """What is kept of one automation.

    Attributes:
        enabled: What a person last said; None when nobody did.
        last_triggered: Seconds since the epoch.
        failures: How many runs failed since the last that did not.
        paused_reason: Why it paused itself.
        armed: Since when its schedules count, seconds since the epoch.
        handled: Planned time of the last occurrence that was handled, by the trigger's own key.
    """

    enabled: bool | None = None
    last_triggered: float | None = None
    failures: int = 0
    paused_reason: str | None = None
    armed: float | None = None
    handled: dict[str, float] = field(default_factory=dict)


class KeptStates:
    """Keeps them in memory and, behind, in the hub database.

    Args:
        tasks: Owner of the task that writes.
    """

    def __init__(self, db: Database, clock: Clock, tasks: TaskOwner) -> None:
        self._db = db
        self._clock = clock
        self._tasks = tasks
        self._states: dict[str, Kept] = {}
        self._dirty: set[str] = set()
        self._flushing = False

    async def open(self) -> None:
        """Load what is kept."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT id, enabled, last_triggered_ms, failures, paused_reason, armed_ms, handled"
                " FROM automation_state"
            ).fetchall()
        )
        for id, enabled, last_ms, failures, paused, armed_ms, handled in rows:
            self._states[id] = Kept(
                None if enabled is None else bool(enabled),
                None if last_ms is None else last_ms / 1000,
                failures,
                paused,
                None if armed_ms is None else armed_ms / 1000,
                {str(key): float(planned) for key, planned in json.loads(handled or "{}").items()},
            )

    async def flush(self) -> None:
        """Write what was not written yet; it is on disk when this returns."""
        if self._dirty:
            await self._db.write(self._writing(self._take_dirty()))

    def of(self, id: str) -> Kept:
        """Return what is kept of an automation; it may be changed, followed by `changed` or `write`."""
        kept = self._states.get(id)
        if kept is None:
            kept = self._states[id] = Kept()
        return kept

    def changed(self, id: str) -> None:
        """Write it soon."""
        self._dirty.add(id)
        if not self._flushing:
            self._flushing = True
            self._tasks.spawn(self._flush_later(), name="keep the states of automations")

    async def write(self, id: str, also: Write | None = None) -> None:
        """Write it now, with `also` in the same transaction; it is on disk when this returns."""
        self._dirty.discard(id)
        writing = self._writing([id])

        def both(connection: sqlite3.Connection) -> None:
            writing(connection)
            if also is not None:
                also(connection)

        await self._db.write(both)

    async def forget(self, ids: Iterable[str]) -> None:
        """Forget automations that are no more."""
        gone = [id for id in ids if self._states.pop(id, None) is not None]
        self._dirty.difference_update(gone)
        if gone:
            await self._db.write(
                lambda connection: connection.executemany(
                    "DELETE FROM automation_state WHERE id = ?", [(id,) for id in gone]
                )
            )

    def known(self) -> set[str]:
        """Return the ids of which something is kept."""
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

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO automation_state VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

        return write

    def _row(self, id: str, kept: Kept) -> tuple[object, ...]:
        return (
            id,
            kept.enabled,
            None if kept.last_triggered is None else int(kept.last_triggered * 1000),
            kept.failures,
            kept.paused_reason,
            None if kept.armed is None else int(kept.armed * 1000),
            json.dumps(kept.handled),
            int(self._clock.time() * 1000),
        )
