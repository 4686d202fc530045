"""Incognito conversations: no memory sees them, no search finds them, and their words are deleted when they end."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.sessions.keys import SessionKey, is_incognito
from hub.sessions.store import EVENT_SESSION_CHANGED, SessionStore
from hub.storage.database import Database
from hub.storage.forgetting import forget_session
from hub.storage.homedir import Home
from hub.tools.kept_results import KeptResults

_log = logging.getLogger(__name__)

EVERY_S = 3_600.0
IDLE_S = 86_400.0
"""Without anything new for so long, a conversation ends by itself."""


class IncognitoNeeds(Struct, frozen=True):
    """The dependencies of incognito conversations."""

    home: Home
    db: Database
    sessions: SessionStore
    clock: Clock
    tasks: TaskOwner
    bus: EventBus


class Incognito:
    """Ends incognito conversations, and deletes their content.

    Args:
        needs: Its dependencies.
    """

    def __init__(self, needs: IncognitoNeeds) -> None:
        self._needs = needs
        self._kept = KeptResults(needs.home.storage / "results")

    async def open(self) -> None:
        """End conversations of an earlier process, and listen for the end of others.

        Raises:
            HubError: The disk cannot be written.
        """
        bus = self._needs.bus
        bus.listen(EVENT_SESSION_CHANGED, self._ended, {"what": ["reset", "deleted"]})
        # A run that was stopped may write its last words after the end.
        bus.listen("run_finished", self._left)
        await self.end(self._now_ms() + 1)

    async def follow(self) -> None:
        """End idle conversations, once an hour, until cancelled."""
        while True:
            await self._needs.clock.sleep(EVERY_S)
            try:
                await self.end(self._now_ms() - int(IDLE_S * 1_000))
            except HubError as error:
                _log.warning("incognito conversations end in an hour: %s", error.message)

    async def end(self, before_ms: int) -> None:
        """End conversations that have been idle since a time.

        Raises:
            HubError: The disk cannot be written.
        """
        for session in self._needs.sessions.list():
            if is_incognito(session.key) and session.updated_ms < before_ms:
                await self._needs.sessions.delete(session.key)
                await self._forget(session.key)

    def _ended(self, event: Event) -> None:
        key = str(event.data["key"])
        if is_incognito(key) and not self._needs.tasks.closed:
            self._needs.tasks.spawn(self._forget(key), name="forget an incognito conversation")

    def _left(self, event: Event) -> None:
        key = str(event.data.get("session_key") or "")
        if is_incognito(key) and not self._needs.tasks.closed:
            is_over = self._needs.sessions.get(key) is None
            left = self._forget(key) if is_over else self._delete_transcripts(key)
            self._needs.tasks.spawn(left, name="delete what a run left of an incognito conversation")

    async def _forget(self, key: str) -> None:
        session = self._needs.sessions.get(key)
        await self._delete_transcripts(key)
        await asyncio.to_thread(self._kept.forget, key)
        before_ms = session.created_ms if session is not None else self._now_ms() + 1
        await self._needs.db.write(partial(forget_session, session_key=key, before_ms=before_ms))

    async def _delete_transcripts(self, key: str) -> None:
        """Delete all transcripts but the present one."""
        sessions = self._needs.sessions

        def present() -> str | None:
            session = sessions.get(key)
            return session.session_id if session is not None else None

        await sessions.transcripts.forget(SessionKey.parse(key).agent, key, present)

    def _now_ms(self) -> int:
        return int(self._needs.clock.time() * 1_000)
