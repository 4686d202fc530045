"""Marks conversations as unread that were answered while nobody had them open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hub.core.errors import NotFound
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from web.core.live import LiveUpdates

_READ_HERE = (SessionKind.MAIN, SessionKind.DIRECT)
"""Work of the hub, as by automations, is looked at when it is looked for."""


class UnreadMarks:
    """Follows all runs; what is answered in a chat app is read in that app.

    Args:
        bus: Announces the ends of runs.
        live: The open tabs.
        sessions: Keep the marks.
        tasks: Owner of the tasks that write them.
        is_home: Whether a channel is the one of the hub's own conversations.
        told: Called with the conversation and its answer.
    """

    def __init__(
        self,
        bus: EventBus,
        live: LiveUpdates,
        sessions: SessionStore,
        tasks: TaskOwner,
        is_home: Callable[[str], bool],
        told: Callable[[Session, str], None],
    ) -> None:
        self._live = live
        self._sessions = sessions
        self._tasks = tasks
        self._is_home = is_home
        self._told = told
        self._unlisten = bus.listen("run_finished", self._finished)

    def close(self) -> None:
        """Stop following."""
        self._unlisten()

    def _finished(self, event: Event) -> None:
        session, reply = self._sessions.get(str(event.data["session_key"])), event.data.get("reply")
        if session is None or not reply or self._live.is_watched(f"session:{session.key}"):
            return
        is_here = session.origin is None or self._is_home(session.origin.channel)
        if not is_here or SessionKey.parse(session.key).kind not in _READ_HERE or self._tasks.closed:
            return
        self._told(session, str(reply))
        if not session.unread:
            self._tasks.spawn(self._mark(session.key), name="mark a conversation as unread")

    async def _mark(self, key: str) -> None:
        with suppress(NotFound):
            await self._sessions.patch(key, unread=True)
