"""Tidying: carries out the decisions of `hub/memory/tidy/plan.py` in the files of a memory, one area at a time.

For whoever asks, all of it is one change of the notebook, which can be undone. When an owner asks, the memories of
other people and of groups are tidied too, each in a separate change that only they see.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agent
from hub.agent.tidy.judge import JudgeBudget, NotesJudge
from hub.agent.tidy.reading import REASON, TidyInput, alike_in, read_areas, undone_tidying
from hub.agent.tidy.report import OtherScopes, Tidied, diff_of, summary_of
from hub.agent.tidy.verdicts import Verdicts
from hub.core.clock import Clock
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, HubError
from hub.memory.contract import Memory
from hub.memory.notebook import Edit
from hub.memory.own_scope import own_scope
from hub.memory.registry import MemoryRegistry
from hub.memory.scope import NOBODY, MemoryScope
from hub.memory.tidy.plan import KnownEntries, TidyPlan, plan, questions
from hub.security.people import People
from hub.sessions.keys import SessionKey, SessionKind
from hub.sessions.privacy import scope_of
from hub.sessions.store import SessionStore
from hub.storage.homedir import Home

_log = logging.getLogger(__name__)

OTHERS_LIMIT = 500
VERDICTS = "tidy.json"


class TidyNeeds(Struct, frozen=True):
    """The dependencies of tidying.

    Attributes:
        people: The people of this home, as configured now.
        zone: The time zone of this home, in which days begin.
    """

    memory: MemoryRegistry
    sessions: SessionStore
    judge: NotesJudge
    home: Home
    clock: Clock
    people: Callable[[], People]
    zone: Callable[[], tzinfo]


class TidyRequest(Struct, frozen=True):
    """A request to tidy.

    Attributes:
        agent: The agent of the memory.
        context: The cause, and the authority.
        dry_run: Report what would change without changing it.
        cost_usd: Dollars that judging may cost; None sets no bound but that on pairs.
    """

    agent: Agent
    context: Context
    dry_run: bool = False
    cost_usd: float | None = None


class Tidy:
    """Tidies up memories, one run at a time."""

    def __init__(self, needs: TidyNeeds) -> None:
        self._needs = needs
        self._lock = asyncio.Lock()

    async def tidy(self, request: TidyRequest) -> Tidied:
        """Tidy the memories that the requester may write, and for an owner those of others.

        All changes are written at the end, or none; cancelling it before changes nothing.

        Raises:
            Forbidden: The request is tainted, or made for someone without a memory.
            Conflict: A file was changed meanwhile; nothing of the caller's was written, and the next run does it.
            Unavailable: There is no memory, or the disk cannot be written.
        """
        authority = request.context.authority
        if authority.tainted:
            raise Forbidden("memory.tidy: text that others wrote is in this run; it may not decide what is kept")
        own = own_scope(authority)
        if own == NOBODY:
            raise Forbidden("memory.tidy: the caller is not a person of this home, so there is no memory to tidy")
        async with self._lock:
            run = _Run(self._needs, self._needs.memory.require(), request)
            mine = await run.tidy(own)
            others = [await run.tidy_quietly(each) for each in self._others(request)] if authority.owner else []
        return Tidied(mine.plans, mine.diff, mine.change_id, _summed(others), request.dry_run)

    def _others(self, request: TidyRequest) -> list[MemoryScope]:
        """Return the scopes of other people and of groups that talk with the agent."""
        people = self._needs.people()
        own = request.context.authority.person
        found = [MemoryScope(each.id, private=False) for each in people.all() if each.id != own]
        for session in self._needs.sessions.list(request.agent.id):
            if SessionKey.parse(session.key).kind in (SessionKind.GROUP, SessionKind.CHANNEL):
                found.append(scope_of(session.key, Authority("system"), people))
        return [each for each in dict.fromkeys(found) if each != NOBODY][:OTHERS_LIMIT]


class _Outcome(Struct, frozen=True):
    """The result for one scope."""

    plans: tuple[TidyPlan, ...] = ()
    diff: str = ""
    change_id: str | None = None
    gave_up: bool = False


class _Run:
    """One run over one agent's memory."""

    def __init__(self, needs: TidyNeeds, memory: Memory, request: TidyRequest) -> None:
        self._needs = needs
        self._memory = memory
        self._request = request
        self._agent_id = request.agent.id
        self._judge_budget: JudgeBudget = needs.judge.budget(request.cost_usd)
        self._today = datetime.fromtimestamp(needs.clock.time(), needs.zone()).date()
        self._verdicts = Verdicts(needs.home.agent(self._agent_id) / VERDICTS)

    async def tidy_quietly(self, scope: MemoryScope) -> _Outcome:
        """Tidy another person's memory; a failure does not stop the others."""
        try:
            return await self.tidy(scope)
        except HubError as error:
            _log.warning("the memory of %s is not tidied up: %s", scope.person or scope.group, error.message)
            return _Outcome(gave_up=True)

    async def tidy(self, scope: MemoryScope) -> _Outcome:
        """Tidy all areas of a scope in one change, each in isolation."""
        readings = await read_areas(self._memory, self._agent_id, scope, self._today)
        if not readings:
            return _Outcome()
        alike = await alike_in(self._memory, readings, self._agent_id, scope, self._today)
        known = KnownEntries(self._today, undone=await undone_tidying(self._memory, self._agent_id, scope))
        plans = [await self._planned(each, replace(known, alike=alike[each.area.name])) for each in readings]
        before = {path: text for each in readings for path, text in each.texts.items()}
        after = {path: text for each in plans for path, text in each.texts.items()}
        diff = await asyncio.to_thread(diff_of, {path: each.text for path, each in before.items()}, after)
        if not after or self._request.dry_run:
            return _Outcome(tuple(plans), diff)
        hashes = {path: each.hash for path, each in before.items()}
        # Copied entries must still be where they were read: they may have been forgotten since.
        stands = {path: before[path].text for each in plans for path in each.sources & before.keys()}
        change_id = await self._write(scope, stands | after, hashes, summary_of(plans))
        return _Outcome(tuple(plans), diff, change_id)

    async def _planned(self, reading: TidyInput, known: KnownEntries) -> TidyPlan:
        """Return the changes in one area, with a model's judgement of pairs that rules cannot decide."""
        asked = await asyncio.to_thread(questions, reading.area, reading.files, known)
        area = reading.area.name
        judged = await asyncio.to_thread(self._verdicts.of, area, [each.pair for each in asked])
        fresh = [each for each in asked if each.pair not in judged]
        if said := await self._needs.judge.judge(fresh, self._request.agent, self._request.context, self._judge_budget):
            await asyncio.to_thread(self._verdicts.keep, area, said)
        return await asyncio.to_thread(plan, reading.area, reading.files, replace(known, judged={**judged, **said}))

    async def _write(
        self, scope: MemoryScope, texts: Mapping[str, str | None], hashes: Mapping[str, str], summary: str
    ) -> str:
        authority = self._request.context.authority
        change = await self._memory.notebook.write(
            [Edit(path, text, hashes.get(path)) for path, text in texts.items()],
            agent_id=self._agent_id,
            scope=scope,
            reason=REASON,
            who=authority.person or authority.principal,
            summary=summary,
        )
        return change.id


def _summed(outcomes: Iterable[_Outcome]) -> OtherScopes:
    told = list(outcomes)
    plans = [each for outcome in told for each in outcome.plans]
    return OtherScopes(
        sum(any(each.texts for each in outcome.plans) for outcome in told),
        sum(len(each.promoted) for each in plans),
        sum(len(each.merged) for each in plans),
        sum(len(each.contradictions) for each in plans),
        sum(each.removed for each in plans),
        sum(each.gave_up for each in told),
    )
