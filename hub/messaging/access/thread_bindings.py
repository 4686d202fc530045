"""Threads of chats that are bound to a session: what is written there comes to it, as long as the binding lasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.messaging.contract import Address
from hub.sessions.session import BoundThread, Session
from hub.sessions.store import SessionStore

HOUR_MS = 3_600_000
_Place = tuple[str, str, str, str | None]


class BindingLimits(Struct, frozen=True):
    """How long bindings last; 0 for no limit.

    Attributes:
        idle_hours: Hours without anything new in the session.
        max_age_hours: Hours since it was bound.
    """

    idle_hours: float = 24
    max_age_hours: float = 0

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> BindingLimits:
        """Read a validated `session.thread_bindings`."""
        return cls(**section)


class Bound(Struct, frozen=True):
    """A binding that holds."""

    thread: BoundThread
    session: Session

    def hears(self, authority: Authority) -> bool:
        """Whether the words of a sender come to the session: those of whom it was bound for, and of owners."""
        return authority.owner or authority.person == self.thread.person is not None


class ThreadBindings:
    """The bindings; each is kept with its session, and is gone with it.

    Args:
        sessions: Store them.
        clock: The clock of the hub.
    """

    def __init__(self, sessions: SessionStore, clock: Clock) -> None:
        self.limits = BindingLimits()
        self._sessions = sessions
        self._clock = clock
        self.keys: dict[_Place, str] | None = None
        """The session of each bound thread, also of those whose binding has ended with it; None until it was read."""

    def at(self, address: Address) -> Bound | None:
        """Return the binding of a thread; None if there is none, or none any more."""
        if not (keys := self._index()):
            return None
        place = _place(address)
        session = self._sessions.get(keys.get(place, ""))
        if session is None:
            return None
        found = (each for each in session.threads if _place(each) == place)
        return next((Bound(each, session) for each in found if self._holds(each, session)), None)

    def session_for(self, address: Address, authority: Authority) -> str | None:
        """Return the session that the words of a sender in a thread come to, if the thread is bound."""
        found = self.at(address)
        return found.session.key if found is not None and found.hears(authority) else None

    def all(self) -> list[Bound]:
        """Return the bindings that hold, oldest first."""
        sessions = {key: session for key in self._index().values() if (session := self._sessions.get(key))}
        found = (Bound(each, session) for session in sessions.values() for each in session.threads)
        return sorted(
            (each for each in found if self._holds(each.thread, each.session)), key=lambda each: each.thread.bound_ms
        )

    def has_thread(self, session_key: str) -> bool:
        """Whether any thread is bound to a session."""
        session = self._sessions.get(session_key)
        return session is not None and any(self._holds(each, session) for each in session.threads)

    async def bind(
        self, address: Address, session_key: str, label: str, person: str | None, *, with_task: bool = False
    ) -> None:
        """Bind a thread to a session, which is begun if it is new; it is on disk when this returns.

        Args:
            address: The thread; a binding it has ends.
            session_key: The session.
            label: The name of the session for people.
            person: Whose words come to it, beside an owner's.
            with_task: Whether `end_task` ends it.
        """
        await self.unbind(address)
        session = await self._sessions.ensure(session_key, person=person)
        thread = BoundThread(*_place(address), label, int(self._clock.time() * 1_000), person, with_task)
        self._index()[_place(address)] = session_key
        await self._sessions.patch(session_key, threads=(*session.threads, thread))

    async def unbind(self, address: Address) -> None:
        """End the binding of a thread."""
        place = _place(address)
        session = self._sessions.get(self._index().pop(place, ""))
        if session is not None:
            left = tuple(each for each in session.threads if _place(each) != place)
            await self._sessions.patch(session.key, threads=left)

    async def end_task(self, session_key: str) -> None:
        """End the bindings that last as long as the task of a subagent."""
        session = self._sessions.get(session_key)
        if session is not None and any(each.with_task for each in session.threads):
            left = tuple(each for each in session.threads if not each.with_task)
            await self._sessions.patch(session_key, threads=left)

    def _index(self) -> dict[_Place, str]:
        """Return the session of each bound thread, also of those whose binding has ended with its session."""
        if self.keys is None:
            threads = [(each, session.key) for session in self._sessions.list() for each in session.threads]
            self.keys = {_place(each): key for each, key in sorted(threads, key=lambda found: found[0].bound_ms)}
        return self.keys

    def _holds(self, thread: BoundThread, session: Session) -> bool:
        if thread.with_task:
            return True
        now, limits = self._clock.time() * 1_000, self.limits
        quiet_ms = now - max(thread.bound_ms, session.updated_ms, session.heard_ms)
        return not (
            0 < limits.idle_hours * HOUR_MS < quiet_ms or 0 < limits.max_age_hours * HOUR_MS < now - thread.bound_ms
        )


def _place(where: Address | BoundThread) -> _Place:
    return where.channel, where.account, where.peer, where.thread
