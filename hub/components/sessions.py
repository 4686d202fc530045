"""The sessions and their transcripts."""

from __future__ import annotations

from collections.abc import Sequence

from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.core.stages import Stage
from hub.sessions.store import SessionStore
from hub.storage.database import Database


class SessionsComponent(Component):
    """The session store."""

    name = "sessions"
    sections = frozenset({"session"})

    def __init__(self, base: Foundation, *, db: Database) -> None:
        self._base = base
        self.sessions = SessionStore(
            db,
            base.home,
            base.clock,
            base.bus,
            redact=base.redactor.redact,
            open_transcripts=base.section("session")["open_transcripts"],
        )

    def stages(self) -> Sequence[Stage]:
        """Return the stage of the store."""
        return [Stage("sessions", self.sessions.open, self.sessions.close)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Take over how many transcripts are held open."""
        self.sessions.configure(open_transcripts=self._base.section("session")["open_transcripts"])
