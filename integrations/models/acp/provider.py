"""The provider of models that are programs: a process for each conversation, kept between messages, bounded."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.messaging.texts import say
from hub.models.contract import ModelEvent, ModelInfo, ModelRequest, Role, TextDelta
from hub.models.schema import CONTEXT_WINDOW_MAX
from hub.tools.approval import AskOwner
from integrations.models.acp.agent_program import AcpError, AgentProgram
from integrations.models.acp.session import AcpSession
from integrations.models.acp.who_may import owner_message

RUNNING_LIMIT = 8
"""Programs at once; one that waits for a message makes room for one that is asked."""
KNOWN_LIMIT = 200
"""Conversations of which it is remembered how a program names them."""

_Key = tuple[str, str]


class AcpParts(Struct, frozen=True):
    """The dependencies of the provider.

    Attributes:
        ask: Asks the owner for the permissions that a program requests.
        own_folders: The hub's folders, which no program works in.
        language: The language of its texts for people.
    """

    clock: Clock
    ask: AskOwner
    own_folders: Callable[[], Sequence[Path]]
    language: Callable[[], str]


class AcpProvider:
    """Asks programs; see `hub.models.contract.ModelProvider`."""

    def __init__(self, name: str, programs: Mapping[str, AgentProgram], parts: AcpParts) -> None:
        self.name = name
        self._programs = programs
        self._parts = parts
        self._tasks = TaskOwner(name)
        self._waiting: OrderedDict[_Key, tuple[AcpSession, asyncio.Task[None]]] = OrderedDict()
        self._at_work: set[AcpSession] = set()
        self._asked = 0
        self._known: OrderedDict[_Key, str] = OrderedDict()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Give a program the owner's message and yield its answer; it remembers the conversation itself.

        Closing or cancelling it ends the program.
        """
        program = self._programs.get(request.model)
        if program is None:
            known = ", ".join(self._programs)
            raise AcpError(f"There is no program {request.model} under acp.agents; there are: {known}.")
        said = owner_message(request, f"{self.name}/{program.name}")
        key = (program.name, said.session_id)
        self._asked += 1
        try:
            session = await self._take(key, program)
            self._at_work.add(session)
            answered = False
            try:
                if session.is_fresh and any(each.role is Role.ASSISTANT for each in request.messages):
                    yield TextDelta(say("acp.fresh", self._parts.language(), program=program.name) + "\n\n")
                session.is_fresh = False
                async with contextlib.aclosing(session.prompt(said, self._parts.ask)) as events:
                    async for event in events:
                        yield event
                answered = True
            finally:
                self._at_work.discard(session)
                if answered and not self._tasks.closed:
                    self._keep(key, session, program.idle_s)
                else:
                    await session.stop()
        finally:
            self._asked -= 1

    def known(self, model_id: str) -> ModelInfo:
        """Return a program's properties without starting it."""
        return ModelInfo(model_id, self.name, context_window=CONTEXT_WINDOW_MAX, tools=False, images=True, program=True)

    async def models(self) -> list[ModelInfo]:
        """Return the configured programs."""
        return [self.known(name) for name in self._programs]

    async def close(self) -> None:
        """End all programs."""
        await self._tasks.cancel_all()
        sessions = [*(session for session, _ in self._waiting.values()), *self._at_work]
        self._waiting.clear()
        for session in sessions:
            await session.stop()

    async def _take(self, key: _Key, program: AgentProgram) -> AcpSession:
        """Return the conversation's program, started when it does not run."""
        if key in self._waiting:
            session = self._no_longer_waits(key)
            if session.alive:
                return session
            await session.stop()
        if self._asked > RUNNING_LIMIT:
            raise AcpError(f"{RUNNING_LIMIT} agent programs are at work already; ask again when one is done.")
        while self._waiting and len(self._waiting) + self._asked > RUNNING_LIMIT:
            await self._no_longer_waits(next(iter(self._waiting))).stop()
        session = await AcpSession.open(program, self._parts.own_folders(), self._tasks, self._known.get(key))
        self._known[key] = session.id
        self._known.move_to_end(key)
        while len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)
        return session

    def _keep(self, key: _Key, session: AcpSession, idle_s: float) -> None:
        expiring = self._tasks.spawn(self._expire(key, idle_s), name=f"end {key[0]} when nobody asks it")
        self._waiting[key] = (session, expiring)

    def _no_longer_waits(self, key: _Key) -> AcpSession:
        session, expiring = self._waiting.pop(key)
        expiring.cancel()
        return session

    async def _expire(self, key: _Key, idle_s: float) -> None:
        await self._parts.clock.sleep(idle_s)
        session, _ = self._waiting.pop(key)
        await session.stop()
