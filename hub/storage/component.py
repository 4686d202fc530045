"""The hub database, and the history of events and usage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.stages import Stage
from hub.foundation import Foundation
from hub.storage.database import Database
from hub.storage.history import HistoryStore
from hub.storage.history_retention import Retention
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.recorder import history_stage


class StorageComponent(Component):
    """Both databases.

    Args:
        lose: Called when another hub has taken the home over: this one has to end.
    """

    name = "storage"
    sections = frozenset({"hub", "storage"})
    in_recovery = True

    def __init__(self, base: Foundation, lose: Callable[[HubError], None]) -> None:
        self._base = base
        self._lose = lose
        self.db = self._make_database()
        base.home.documents = self.db.documents
        self.history = HistoryStore(
            base.home.history_db,
            retention=self._retention(),
            redact=base.redactor.redact,
            wall_time=base.clock.time,
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the hub database and of the history."""
        return [
            Stage("hub database", self._open, self.db.close, start_limit_s=120.0),
            history_stage(self.history, self._base.bus, self._base.repairs, self._base.tasks),
        ]

    async def apply(self, changed: frozenset[str]) -> None:
        """Apply the retention of the history."""
        if "hub" in changed:
            self.history.set_retention(self._retention())

    def _retention(self) -> Retention:
        return Retention.from_config(self._base.section("hub")["history"])

    def _make_database(self) -> Database:
        if self._base.share is not None:
            return self._base.share.database(self._base.home.hub_db)
        section = self._base.section("storage")
        if not section:
            return Database(self._base.home.hub_db, HUB_MIGRATIONS)
        from hub.storage.opening import make_database

        return make_database(self._base.home, section, self._base.redactor.register)

    async def _open(self) -> None:
        call_soon = asyncio.get_running_loop().call_soon_threadsafe
        self.db.on_damage(partial(call_soon, self._report_damage))
        self.db.on_away(lambda error: call_soon(self._report_away, error))
        await self.db.open()
        await self._refuse_moved()
        if self.db.damage is not None:
            self._base.repairs.raise_("storage", "hub_db", phrase("The hub database was damaged"), self.db.damage.text)

    async def _refuse_moved(self) -> None:
        select = "SELECT count(*) FROM meta WHERE key IN ('moving_from', 'moved_to', 'moving_to')"
        if (await self.db.read(lambda connection: connection.execute(select).fetchone()))[0]:
            from hub.storage.moving import refuse_moved

            await refuse_moved(self.db)

    def _report_away(self, error: HubError | None) -> None:
        if error is None:
            self._base.repairs.clear("storage", "hub_db")
            return
        title = phrase("The hub database cannot be reached")
        self._base.repairs.raise_("storage", "hub_db", title, error.message, severity=Severity.CRITICAL)
        if not error.retryable:  # it is another hub's now
            self._lose(error)

    def _report_damage(self) -> None:
        self._base.repairs.raise_(
            "storage",
            "hub_db",
            phrase("The hub database is damaged"),
            phrase(
                "A page of {file} cannot be read. Restart the hub: it saves what can be read and keeps the damaged "
                "file beside it.",
                file=self._base.home.hub_db,
            ),
            severity=Severity.CRITICAL,
        )
