"""Automations made with a token or a device: turned off, with a repair, when that credential ends.

The owner's own are not in the table, and one that the owner changes becomes theirs.
"""

from __future__ import annotations

from collections.abc import Callable

from hub.automation.engine.armed_triggers import REPAIRS
from hub.automation.engine.automations import Automations
from hub.core.errors import NotFound, Unavailable
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.core.sql import upsert
from hub.storage.database import Database

_PUT = upsert("automation_makers", "id, links")

Links = frozenset[str]
"""The credentials that something was made with, each as `<id>@<generation>`."""


class AutomationMakers:
    """Remembers which automations were made with which credentials.

    Args:
        automations: Turned off here.
        all_valid: Whether all of some credentials are still valid.
    """

    def __init__(
        self, db: Database, repairs: Repairs, automations: Automations, all_valid: Callable[[Links], bool]
    ) -> None:
        self._db = db
        self._repairs = repairs
        self._automations = automations
        self._all_valid = all_valid
        self._links: dict[str, Links] = {}

    async def open(self) -> None:
        """Load the stored credentials."""
        rows = await self._db.read(
            lambda connection: connection.execute("SELECT id, links FROM automation_makers").fetchall()
        )
        self._links = {id: frozenset(links.split()) for id, links in rows}

    async def note(self, id: str, links: Links) -> None:
        """Remember with which credentials an automation was made or changed; with none, it is the owner's."""
        if links:
            self._links[id] = links
            row = (id, " ".join(sorted(links)))
            await self._db.write(lambda connection: connection.execute(_PUT, row))
        elif id in self._links:
            await self._forget(id)

    async def end(self) -> None:
        """Turn off automations whose credentials have ended; the owner may turn them on again."""
        for id, links in list(self._links.items()):
            if not self._all_valid(links):
                await self._turn_off(id, links)
                await self._forget(id)

    async def _turn_off(self, id: str, links: Links) -> None:
        try:
            automation = self._automations.get(id)
        except (NotFound, Unavailable):  # broken, disabled in the file, or gone; it begins turned off if it comes back
            await self._automations.keep_off(id)
            return
        await automation.turn_off()
        made_with = ", ".join(sorted(link.partition("@")[0] for link in links))
        self._repairs.raise_(
            REPAIRS,
            f"{id}:maker",
            phrase("The automation {automation} was turned off", automation=automation.alias),
            phrase(
                "It was made or changed with {credentials}, which was revoked or has expired. Look at what it "
                "does, and turn it on again to keep it.",
                credentials=made_with,
            ),
            severity=Severity.WARNING,
            command=f"homarus automation on {id}",
        )

    async def _forget(self, id: str) -> None:
        self._links.pop(id, None)
        await self._db.write(lambda connection: connection.execute("DELETE FROM automation_makers WHERE id = ?", (id,)))
