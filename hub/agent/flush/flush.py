"""Flush: saves what matters in a conversation to memory before the conversation is reset or shortened.

Each part of a conversation is written once: how far it was written is kept with its transcript's id.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable

from msgspec import Struct

from hub.agent.agents import Agent, Agents
from hub.agent.flush.digest import Digester
from hub.agent.flush.said import SaidWords, branch_of, messages_since
from hub.agent.flush.store import FlushPlan, FlushPosition, FlushStore
from hub.agent.flush.turn import MemoryTurn, TurnScene
from hub.core.clock import Clock
from hub.core.context import Authority, system_context
from hub.core.errors import Forbidden, HubError, NotFound, Unavailable
from hub.core.events import EventBus
from hub.core.lanes import Lanes, Priority
from hub.core.tasks import TaskOwner
from hub.memory.contract import CHANGES_LIMIT, Memory
from hub.memory.registry import MemoryRegistry
from hub.memory.scope import NOBODY, MemoryProvenance, MemoryScope
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.keys import ROOMS, SessionKey, SessionKind
from hub.sessions.privacy import scope_of
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.storage.database import Database

_log = logging.getLogger(__name__)

EVENT_FLUSHED = "memory_flushed"
"""Fired when a conversation was written into memory: `agent_id`, `session_key`, `session_id`, `path`, `trusted`."""

KINDS = frozenset({SessionKind.MAIN, SessionKind.DIRECT, *ROOMS})
"""Conversations of people; what automations and subagents say among themselves is not kept."""

MEMORY_LOOKS = 60
MEMORY_WAIT_S = 1.0
"""How often, and how long in between, it is looked whether the memory is set up yet behind a start."""


class FlushNeeds(Struct, frozen=True):
    """The dependencies of flushing.

    Attributes:
        people: The people of this home, as configured now.
    """

    db: Database
    sessions: SessionStore
    agents: Agents
    memory: MemoryRegistry
    digester: Digester
    turn: MemoryTurn
    lanes: Lanes
    bus: EventBus
    clock: Clock
    redactor: Redactor
    tasks: TaskOwner
    people: Callable[[], People]


class _Whose(Struct, frozen=True):
    """The memory that a conversation is written to; `owner` says whether they spoke there with an owner's rights."""

    scope: MemoryScope
    person: str | None
    owner: bool = False


class Flush:
    """Writes conversations into memory: on request, and after each reset."""

    def __init__(self, needs: FlushNeeds) -> None:
        self._needs = needs
        self._store = FlushStore(needs.db)
        # One at a time for each conversation; who finds it written has nothing to do.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def open(self) -> None:
        """Start writing what a stop interrupted, in the background."""
        for session in await self._store.take_due():
            self._needs.tasks.spawn(self._write_behind(session), name=f"keep what was said in {session.key}")

    def before_reset(self, session: Session) -> None:
        """Schedule the flush of a conversation that is about to be reset; it survives a stop of the hub."""
        needs = self._needs
        if needs.memory.current is None or SessionKey.parse(session.key).kind not in KINDS or needs.tasks.closed:
            return
        self._store.want(session, self._now_ms())
        needs.tasks.spawn(self._write_behind(session), name=f"keep what was said in {session.key}")

    async def before_compaction(self, session_key: str) -> None:
        """Write a conversation before its older part is summarised, if it has a memory.

        A model with tools does it itself, in a turn that nobody sees; where it does not, the digest of it is written.

        Raises:
            HubError: It cannot be read or written.
        """
        if self._needs.memory.current is not None and SessionKey.parse(session_key).kind in KINDS:
            await self.flush(session_key, silent_turn=True)

    async def flush(
        self, session_key: str, authority: Authority | None = None, *, silent_turn: bool = False
    ) -> str | None:
        """Write what matters of a conversation since the last flush; return the file, or None for nothing to write.

        For compaction, services and whatever is about to remove words from a conversation. Bounded: a model that is
        slow or fails is done without.

        Args:
            session_key: The conversation.
            authority: The requester's; non-owners may flush only their own conversations. None for the hub itself.
            silent_turn: Whether a model may keep it with the tools of memory, without a file of its own.

        Raises:
            NotFound: There is no such conversation.
            Forbidden: It belongs to someone else.
            HubError: It cannot be read or written; nothing is lost, and the next flush includes it.
        """
        session = self._needs.sessions.get(session_key)
        if session is None:
            raise NotFound(f"there is no session {session_key}", details={"session_key": session_key})
        if authority is not None and not authority.owner:
            whose = await self._whose(session)
            if authority.person is None or whose.person != authority.person:
                raise Forbidden(f"the conversation {session_key} belongs to someone else")
        return await self._write(session, silent_turn=silent_turn)

    async def _write_behind(self, session: Session) -> None:
        """Write a conversation that has been reset, once its stopped run has written its end."""
        needs = self._needs
        try:
            for _ in range(MEMORY_LOOKS):
                if needs.memory.current is not None:
                    break
                await needs.clock.sleep(MEMORY_WAIT_S)
            async with needs.lanes.hold(f"session:{session.key}", system_context(), Priority.BACKGROUND):
                pass
            await self._write(session)
        except Unavailable as error:
            _log.warning("what was said in %s is kept at the next start: %s", session.key, error.message)
        except HubError as error:
            _log.warning("what was said in %s is not kept: %s", session.key, error.message)
            await self._store.drop(session.session_id)

    async def _write(self, session: Session, *, silent_turn: bool = False) -> str | None:
        lock = self._locks.setdefault(session.session_id, asyncio.Lock())
        async with lock:
            memory = self._needs.memory.require()
            position = await self._store.position(session.session_id)
            whose = await self._whose(session)
            resumable = None
            if position.plan is not None:
                position = await self._take_up(session, whose, memory, position.plan)
                resumable = position.path
            forgotten = None
            # Whatever is forgotten while a model reads is not to be in what it writes.
            while (latest := await self._forgotten(session, whose, memory)) != forgotten:
                forgotten = latest
                said = await self._said(session, position, *forgotten)
                if not said.names_something or whose.scope == NOBODY:
                    await self._done(session, said)
                    return resumable
                agent = self._needs.agents.get(session.agent_id)
                if silent_turn and await self._kept_by_a_model(session, whose, memory, said, agent, latest):
                    await self._done(session, said)
                    return resumable
                digest = await self._needs.digester.digest(said.lines, agent, session.key, session.model)
                if not digest.points:
                    await self._done(session, said)
                    return resumable
            redact = self._needs.redactor.redact
            title, text = redact(digest.title), redact(digest.text)
            plan = FlushPlan(digest.slug, title, text, said.trusted, said.entry_id, said.entry_ms)
            await self._store.plan(session, plan, self._now_ms())
            return (await self._carry_out(session, whose, memory, plan)).path

    async def _kept_by_a_model(
        self,
        session: Session,
        whose: _Whose,
        memory: Memory,
        said: SaidWords,
        agent: Agent,
        forgotten: tuple[int, frozenset[str] | None],
    ) -> bool:
        """Let a model keep what one person and the agent said; not allowed when it holds words from outside."""
        person = self._needs.people().by_id(whose.person) if whose.person is not None else None
        if person is None or not said.trusted:
            return False

        async def holds() -> bool:
            return await self._forgotten(session, whose, memory) == forgotten

        authority = Authority(f"person:{person.id}", person=person.id, owner=whose.owner)
        scene = TurnScene(agent, session.key, session.model, authority, holds)
        return await self._needs.turn.keep(said.lines, scene)

    async def _take_up(self, session: Session, whose: _Whose, memory: Memory, plan: FlushPlan) -> FlushPosition:
        """Carry out a plan that a crash interrupted, unless it was carried out already."""
        return await self._carry_out(session, whose, memory, plan, await self._find(session, whose, memory, plan))

    async def _carry_out(
        self, session: Session, whose: _Whose, memory: Memory, plan: FlushPlan, path: str | None = None
    ) -> FlushPosition:
        """Write a plan, and note that it is written."""
        if path is None:
            now = self._needs.clock.time()
            source = MemoryProvenance(session.key, whose.person, now, plan.trusted)
            path = await memory.notebook.note(
                plan.slug, plan.title, plan.text, source, agent_id=session.agent_id, scope=whose.scope
            )
        await self._store.mark_written(session, plan.entry_id, plan.entry_ms, path, self._now_ms())
        told = {"agent_id": session.agent_id, "session_key": session.key, "session_id": session.session_id}
        self._needs.bus.fire(EVENT_FLUSHED, {**told, "path": path, "trusted": plan.trusted}, system_context())
        return FlushPosition(plan.entry_id, plan.entry_ms, path)

    async def _find(self, session: Session, whose: _Whose, memory: Memory, plan: FlushPlan) -> str | None:
        """Return the file that already has a plan's text."""
        agent_id, scope = session.agent_id, whose.scope
        for file in await memory.notebook.files(agent_id=agent_id, scope=scope):
            if plan.slug not in file.path or file.changed_ms < plan.entry_ms:
                continue
            text = (await memory.notebook.read(file.path, agent_id=agent_id, scope=scope)).text
            if all(line.removeprefix("- ") in text for line in plan.text.splitlines()):
                return file.path
        return None

    async def _forgotten(self, session: Session, whose: _Whose, memory: Memory) -> tuple[int, frozenset[str] | None]:
        """Return when anything was last forgotten in a conversation's memory, and what of the conversation itself."""
        if whose.scope == NOBODY:
            return 0, frozenset()
        left_out = await memory.left_out(session.session_id, agent_id=session.agent_id)
        changes = await memory.notebook.changes(agent_id=session.agent_id, scope=whose.scope, limit=CHANGES_LIMIT)
        return max((each.time_ms for each in changes if each.reason == "forget"), default=0), left_out

    async def _said(
        self, session: Session, position: FlushPosition, forgotten_ms: int, left_out: frozenset[str] | None
    ) -> SaidWords:
        reading = await self._needs.sessions.transcripts.read(session.agent_id, session.session_id)
        branch = branch_of(reading.entries) if reading is not None else []
        return messages_since(
            branch, position.entry_id, position.entry_ms, forgotten_ms=forgotten_ms, left_out=left_out
        )

    async def _whose(self, session: Session) -> _Whose:
        """Return the memory that a conversation is written to.

        If several owners spoke, it is the home's; if others took part outside a group, it is no one's.
        """
        key = SessionKey.parse(session.key)
        people = self._needs.people()
        if key.kind in ROOMS:
            return _Whose(scope_of(session.key, Authority("system"), people), None)
        if key.kind not in KINDS:
            return _Whose(NOBODY, None)
        speakers = await self._store.speakers(session) or {session.person: True}
        persons = [people.by_id(name) if name is not None else None for name in speakers]
        if len(persons) > 1 and all(each is not None and each.owner for each in persons):
            return _Whose(MemoryScope(None, private=True), None)
        person = persons[0]
        if len(persons) > 1 or person is None:
            return _Whose(NOBODY, None)
        owner = person.owner and speakers[person.id]
        authority = Authority(f"person:{person.id}", person=person.id, owner=owner)
        return _Whose(scope_of(session.key, authority, people), person.id, owner)

    async def _done(self, session: Session, said: SaidWords) -> None:
        await self._store.mark_written(session, said.entry_id, said.entry_ms, None, self._now_ms())

    def _now_ms(self) -> int:
        return int(self._needs.clock.time() * 1_000)
