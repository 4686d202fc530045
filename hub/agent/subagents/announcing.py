"""How results of subagents reach their requesters: in a turn of the requester's session, exactly once.

Results that are there when the turn is made are in it together; which ones is in the database before it begins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from hub.agent.run_request import RunRequest, RunResult
from hub.agent.runner import AgentRunner
from hub.agent.subagents.record import Subagent, SubagentStore, mark_announced
from hub.agent.subagents.words import announcement, is_skipped
from hub.agent.taint.authorship import AUTOMATION
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.lanes import Priority
from hub.core.sql import SqlConnection
from hub.models.contract import user_message
from hub.sessions.keys import main_key

_log = logging.getLogger(__name__)

TOGETHER_LIMIT = 10
"""Results in one turn."""


class RequesterPlaces(Protocol):
    """The chats that requesters' answers go to."""

    async def find(self, run_id: str, session_key: str) -> str:
        """Return the stored destination of a run's answer; empty if there is none."""
        ...

    async def open_thread(self, place: str, session_key: str, label: str, context: Context) -> str:
        """Open a thread for a subagent where the run's answer goes; return it as a place.

        Raises:
            InvalidRequest: There are no threads.
            Unavailable: The message that begins it was not sent.
        """
        ...

    def is_opened(self, place: str) -> bool:
        """Whether a place is a thread that was opened for a subagent."""
        ...

    async def bind(self, place: str, subagent: Subagent, *, with_task: bool) -> None:
        """Have what its requester writes in a subagent's thread come to it.

        Args:
            place: The thread.
            subagent: The subagent.
            with_task: Whether only until it has ended.
        """
        ...

    async def end_task(self, session_key: str) -> None:
        """End the bindings that last as long as a subagent's task."""
        ...

    def bound_tasks(self) -> list[str]:
        """Return the sessions that such bindings lead to."""
        ...

    def has_thread(self, session_key: str) -> bool:
        """Whether a thread is bound to a subagent's session."""
        ...

    async def choose(self, place: str, subagent: Subagent, context: Context) -> str:
        """Return the destination of the answer to a result: the given place, or the one a hook chose."""
        ...

    def answer(self, connection: SqlConnection, place: str, request: RunRequest, result: RunResult) -> None:
        """Write an answer for its chat, in the caller's transaction."""
        ...

    def answered(self, place: str) -> None:
        """Start sending what was written."""
        ...


class Announcer:
    """Delivers results to requesters, one turn after another for each.

    Args:
        runner: Runs the turns.
        store: The registry.
        places: The destinations of the answers.
        settled: Called with those that were heard.
    """

    def __init__(
        self,
        runner: AgentRunner,
        store: SubagentStore,
        places: RequesterPlaces,
        settled: Callable[[Iterable[Subagent]], None],
    ) -> None:
        self._runner = runner
        self._store = store
        self._places = places
        self._settled = settled
        self._waiting: dict[str, list[Subagent]] = {}
        self._going_on: set[str] = set()

    def add(self, subagent: Subagent) -> None:
        """Announce a result in its requester's session, or in an owner's main session if that is gone."""
        key = subagent.requester_key
        gone = self._runner.parts.sessions.get(key) is None
        if gone and subagent.authority.owner:
            key, gone = main_key(subagent.requester_agent), False
        if gone or is_skipped(subagent):
            self._runner.parts.tasks.spawn(self._drop(subagent), name=f"close subagent {subagent.id}")
            return
        self._waiting.setdefault(key, []).append(subagent)
        if key not in self._going_on:
            self._going_on.add(key)
            self._runner.parts.tasks.spawn(self._announce_all(key), name=f"announce to {key}")

    async def _announce_all(self, key: str) -> None:
        try:
            while waiting := self._waiting.get(key):
                first = waiting[0]
                chosen = [each for each in waiting if _belongs_with(each, first)][:TOGETHER_LIMIT]
                left = [each for each in waiting if each not in chosen]
                self._waiting[key] = left
                await self._announce(key, chosen)
        finally:
            self._going_on.discard(key)
            if not self._waiting.get(key):
                self._waiting.pop(key, None)

    async def _announce(self, key: str, chosen: list[Subagent]) -> None:
        first = chosen[0]
        run_id = first.announce_id or f"subagents-{new_id()}"
        chosen = [replace(each, announce_id=run_id) for each in chosen]
        authority = first.authority.narrow(tainted=any(each.tainted for each in chosen))
        request = RunRequest(
            run_id=run_id,
            agent_id=first.requester_agent,
            session_key=key,
            message=user_message(announcement(chosen)),
            context=Context(authority, parent_id=first.run_id),
            kind="message",
            lane=f"{AUTOMATION}:{key}",
            priority=Priority.BACKGROUND,
            channel=AUTOMATION,
        )
        place = await self._places.choose(first.place, first, request.context)
        request = replace(request, on_final=partial(self._end, request, place))
        while first.announce_id is None:  # else both are on disk already
            try:
                # Which results the turn holds and the turn itself are there together, or neither is.
                await self._store.update(chosen, partial(self._insert, request))
                break
            except HubError as error:
                _log.error("results of subagents of %s wait: %s", key, error.message)
                await self._runner.parts.clock.sleep(2.0)
        await self._runner.run_until_kept(request)
        self._places.answered(place)
        now = self._runner.parts.now_ms()
        done = [replace(each, announced_ms=now) for each in chosen]
        await self._store.update(done)  # also those of a turn that was cut off when it had begun to change things
        self._settled(done)

    def _insert(self, request: RunRequest, connection: SqlConnection) -> None:
        self._runner.insert_queued(connection, request)

    def _end(self, request: RunRequest, place: str, connection: SqlConnection, result: RunResult) -> None:
        mark_announced(connection, request.run_id, self._runner.parts.now_ms())
        if place:
            self._places.answer(connection, place, request, result)

    async def _drop(self, subagent: Subagent) -> None:
        done = replace(subagent, announced_ms=self._runner.parts.now_ms())
        await self._store.update([done])
        self._settled([done])


def _belongs_with(each: Subagent, first: Subagent) -> bool:
    return (each.announce_id, each.authority, each.place, each.tainted, each.requester_agent) == (
        *(first.announce_id, first.authority, first.place, first.tainted, first.requester_agent),
    )
