"""The sessions and their transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from hub.agent.runner import AgentRunner
from hub.agent.subagents.subagents import Subagents
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.gateway.connection.server import Gateway
from hub.messaging.channels import ChannelRegistry
from hub.sessions.archive import archive_daily
from hub.sessions.incognito import Incognito, IncognitoNeeds
from hub.sessions.pruning import PruneLimits, Pruning
from hub.sessions.reset import ResetRules
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import EVENT_SESSION_CHANGED, SessionStore
from hub.sessions.transcript_store import TranscriptFiles, TranscriptStore
from hub.storage.database import Database
from hub.storage.homedir import Home

if TYPE_CHECKING:
    from hub.sessions.methods.session_rows import SessionRows
    from hub.sessions.methods.sessions import SessionMethods


class SessionsComponent(Component):
    """The session store, and search in conversations."""

    name = "sessions"
    sections = frozenset({"session"})
    follows = frozenset({"hub"})

    def __init__(self, base: Foundation, *, db: Database) -> None:
        self._base = base
        transcripts = make_transcripts(base.home, db)
        self.sessions = SessionStore(
            db, base.home, base.clock, base.bus, transcripts=transcripts, redact=base.redactor.redact
        )
        self.search = TranscriptSearch(base.home, self.sessions, base.clock)
        self._pruning = Pruning(
            base.home,
            self.sessions,
            base.clock,
            base.repairs,
            lambda: PruneLimits.from_config(base.section("session")),
        )
        self._incognito = Incognito(
            IncognitoNeeds(base.home, db, self.sessions, base.clock, base.tasks, base.bus),
        )
        self._configure()

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the store and of the search."""
        return [Stage("sessions", self._open, self.sessions.close), Stage("search", self._follow, self.search.close)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Apply the number of open transcripts, and the reset rules."""
        self._configure()

    async def _open(self) -> None:
        await self.sessions.open()
        await self._incognito.open()
        self._base.tasks.spawn(self._incognito.follow(), name="end idle incognito conversations")
        self._base.tasks.spawn(
            archive_daily(self.sessions, self._base.clock, lambda: int(self._base.section("session")["archive_after"])),
            name="archive idle conversations",
        )

    async def _follow(self) -> None:
        self._base.bus.listen(EVENT_SESSION_CHANGED, self.search.session_changed)
        self._base.tasks.spawn(self.search.follow(), name="index conversations")
        self._base.tasks.spawn(self._pruning.follow(), name="prune conversations")

    def methods(self) -> MethodGroups:
        """Return the method that prunes."""
        return {"pruning": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.sessions.methods.session_pruning import SessionPruneMethods

        return SessionPruneMethods(self._pruning).methods()

    def _configure(self) -> None:
        section = self._base.section("session")
        self.sessions.configure(
            open_transcripts=section["open_transcripts"], reset=ResetRules.from_config(section, self._base.zone())
        )


def make_transcripts(home: Home, db: Database) -> TranscriptStore:
    """Return the transcripts of a home: its files, or rows of a database that is not in the home."""
    if not db.holds_files:
        return TranscriptFiles(home)
    from hub.sessions.transcript_table import TranscriptTable

    return TranscriptTable(db)


class SessionMethodsComponent(Component):
    """The methods about sessions: they know what runs in them, and whose connections follow them."""

    name = "session methods"

    def __init__(
        self,
        gateway: Gateway,
        *,
        search: TranscriptSearch,
        runner: AgentRunner,
        channels: ChannelRegistry,
        subagents: Subagents,
    ) -> None:
        self._gateway, self._search, self._runner = gateway, search, runner
        self._channels, self._subagents = channels, subagents
        self.store = runner.parts.sessions

    @cached_property
    def rows(self) -> SessionRows:
        """The maker of session rows; its module is imported with the first use."""
        from hub.sessions.methods.session_rows import SessionRows

        parts = self._runner.parts
        return SessionRows(parts.agents, parts.models, self._runner, self._subagents)

    @cached_property
    def sessions(self) -> SessionMethods:
        """The methods that change sessions; their module is imported with the first use."""
        from hub.sessions.methods.sessions import SessionMethods

        return SessionMethods(
            self._gateway,
            sessions=self.store,
            agents=self._runner.parts.agents,
            models=self._runner.parts.models,
            runner=self._runner,
            channels=self._channels,
            rows=self.rows,
        )

    def methods(self) -> MethodGroups:
        """Return the methods about sessions."""
        return {"sessions": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.sessions.methods.session_search import SessionSearchMethods
        from hub.sessions.methods.session_views import SessionViews

        return [
            *self.sessions.methods(),
            *SessionViews(self.sessions, self.store, self.rows, self._gateway.clock).methods(),
            *SessionSearchMethods(self._search, self.store).methods(),
        ]
