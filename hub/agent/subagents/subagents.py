"""The subagents of this hub: spawned, steered, stopped, and each reported exactly once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence, Sized
from functools import partial

from msgspec.structs import replace

from hub.agent.run_request import RunRequest, RunResult, RunStatus, SteeredMessage, Steering
from hub.agent.runner import AgentRunner
from hub.agent.runs.store import RunStore
from hub.agent.subagents.announcing import Announcer, RequesterPlaces
from hub.agent.subagents.mail import SubagentMail
from hub.agent.subagents.record import Subagent, SubagentState, SubagentStore, find_subagents
from hub.agent.subagents.settings import LANE
from hub.agent.subagents.spawning import (
    SpawnMode,
    SpawnRequest,
    ask_before_spawning,
    child_key,
    policies_of_subagent,
    subagent_rights,
)
from hub.agent.subagents.words import announcement, is_skipped, subagent_context
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.errors import Conflict, Forbidden, HubError, InvalidRequest, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.lanes import Priority
from hub.models.choosing import choose_model
from hub.models.contract import Message, user_message
from hub.sessions.keys import SessionKey, SessionKind, is_incognito
from hub.storage.database import Database

_log = logging.getLogger(__name__)

ARCHIVE_EVERY_S = 60.0
RUN_PREFIX = "subagent-"
TASK_CHARS = 2_000
"""Of a task, as it is listed."""
TITLE_CHARS = 60
"""Of a task, as the title of a thread."""


class Subagents:
    """Manages every subagent until it is archived.

    Fires `subagent_spawned` and `subagent_ended`.

    Args:
        runner: Runs them.
        db: The hub database.
        places: The destinations of requesters' answers.
    """

    def __init__(self, runner: AgentRunner, db: Database, places: RequesterPlaces) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._store = SubagentStore(db)
        self._runs = RunStore(db, self._parts.now_ms)
        self._places = places
        self._announcer = Announcer(runner, self._store, places, self._settled)
        self._known: dict[str, Subagent] = {}
        self._mail: dict[str, SubagentMail] = {}
        self._spawning = asyncio.Lock()
        runner.on_abort(self.stop_below)

    # -- what is asked ---------------------------------------------------------------------------------------------

    async def spawn(self, request: SpawnRequest) -> Subagent:
        """Begin a task in the background; it is on disk when this returns.

        Raises:
            InvalidRequest: The asking run leaves no transcript, there is no such model, or the mode does not fit.
            NotFound: There is no such agent.
            Forbidden: It is nested too deep, or the agent may not be given tasks from here.
            LimitExceeded: The conversation has as many subagents as it may have.
        """
        parts = self._parts
        settings = parts.agents.get(request.agent_id).subagents
        agent = parts.agents.get(request.target_agent or request.agent_id)
        if not settings.allows(request.agent_id, agent.id):
            raise Forbidden(f"agent_id: {agent.id} does not accept tasks from here; see agents_list")
        if parts.sessions.get(request.session_key) is None:
            raise InvalidRequest("this conversation is not kept, so no result could come back to it")
        if request.mode is SpawnMode.SESSION and (not request.thread or request.delete):
            raise InvalidRequest("mode: session needs thread: true, and a conversation that stays (cleanup: keep)")
        if is_incognito(request.session_key):
            raise Forbidden("an incognito conversation cannot have subagents: their conversations would be kept")
        depth = self._depth(request.session_key) + 1
        if depth > settings.max_depth:
            raise Forbidden(f"subagents nest at most {settings.max_depth} deep here (agents[].subagents.max_depth)")
        request = await ask_before_spawning(parts, request, agent.id, depth)
        model = request.model or settings.model
        if model is not None:
            await (parts.models.resolve(model) if model == settings.model else choose_model(parts.models, model))
        place = await self._places.find(request.run_id, request.session_key)
        if request.thread:
            label = request.label or " ".join(request.task.split())[:TITLE_CHARS]
            place = await self._places.open_thread(place, request.session_key, label, request.context)
        opened = request.thread and self._places.is_opened(place)
        if request.mode is SpawnMode.SESSION and not opened:
            raise InvalidRequest("mode: session: this conversation is a thread already; use /focus in it")
        stays = opened and not request.delete and request.mode is not SpawnMode.RUN
        async with self._spawning:
            running = sum(each.requester_key == request.session_key for each in self.running())
            if running >= settings.max_children:
                raise LimitExceeded(
                    f"{running} subagents of this conversation are at work, and no more may be "
                    "(agents[].subagents.max_children); wait for a result, or kill one"
                )
            id = new_id()
            subagent = Subagent(
                id,
                f"{RUN_PREFIX}{id}",
                child_key(request.session_key, agent.id, id),
                request.session_key,
                request.agent_id,
                agent.id,
                request.label or id[-8:],
                depth,
                request.context.authority,
                place,
                request.delete,
                settings.archive_after,
                parts.now_ms(),
                request.task[:TASK_CHARS],
                model=model or agent.model or "",
            )
            if opened:
                await self._places.bind(place, subagent, with_task=not stays)
            await self._store.insert(subagent)
            self._known[id] = subagent
        context = Context(
            subagent_rights(parts, request, leaf=depth >= settings.max_depth), parent_id=request.context.id
        )
        mailbox = self._mail[subagent.session_key] = SubagentMail()
        run = RunRequest(
            run_id=subagent.run_id,
            agent_id=agent.id,
            session_key=subagent.session_key,
            message=user_message(request.task),
            context=context,
            model=model,
            thinking=request.thinking or settings.thinking,
            configured_prompt=subagent_context(depth, settings.max_depth, in_thread=stays),
            lane=f"{LANE}:{agent.id}",
            priority=Priority.BACKGROUND,
            timeout_s=(settings.timeout if request.timeout_s is None else request.timeout_s) or None,
            channel="subagent",
        )
        parts.bus.fire("subagent_spawned", _facts(subagent), context)
        parts.tasks.spawn(self._drive(subagent, run, mailbox), name=f"subagent {id}")
        return subagent

    def all(self) -> list[Subagent]:
        """Return all that are not archived, oldest first."""
        return list(self._known.values())

    def running(self) -> list[Subagent]:
        """Return the running subagents."""
        return [each for each in self._known.values() if each.state is SubagentState.RUNNING]

    def at(self, session_key: str) -> Subagent | None:
        """Return the subagent whose conversation a session is."""
        return next((each for each in self._known.values() if each.session_key == session_key), None)

    def policies_in(self, session_key: str) -> tuple[ToolPolicy, ...]:
        """Return the policies that narrow the tools in a session, if it is a subagent's."""
        found = self.at(session_key)
        return policies_of_subagent(self._parts, found) if found is not None else ()

    @property
    def at_work(self) -> Sized:
        """Running subagents that can still be steered."""
        return self._mail

    def below(self, session_key: str) -> list[Subagent]:
        """Return the subagents of a conversation and their descendants, oldest first."""
        keys = {session_key}
        found: list[Subagent] = []
        for each in self._known.values():  # in the order in which they were spawned
            if each.requester_key in keys:
                keys.add(each.session_key)
                found.append(each)
        return found

    def find(self, session_key: str, target: str) -> Subagent:
        """Return a subagent of a conversation by its id, the end of it, its label or its session key.

        Raises:
            NotFound: There is none, or more than one.
        """
        found = find_subagents(self.below(session_key), target)
        if len(found) != 1:
            many = f"{len(found)} subagents are called so; give the id" if found else "there is no such subagent"
            raise NotFound(f"target: {many} (action list names them)")
        return found[0]

    def kill(self, subagent: Subagent) -> list[str]:
        """Stop a subagent and its descendants; return the stopped runs. Nobody is notified of their end."""
        stopped = self.stop_below(subagent.session_key)
        if (mailbox := self._mail.get(subagent.session_key)) is not None:
            mailbox.close()
            stopped += self._runner.abort(run_id=self._known[subagent.id].run_id) or [subagent.run_id]
        return stopped

    def stop_below(self, session_key: str) -> list[str]:
        """Stop all subagents of a conversation."""
        return [run_id for each in self.running() if each.requester_key == session_key for run_id in self.kill(each)]

    def steer(self, subagent: Subagent, text: str, authority: Authority) -> None:
        """Send a message to a running subagent.

        Raises:
            InvalidRequest: It has ended.
        """
        mailbox = self._mail.get(subagent.session_key)
        if mailbox is None or mailbox.is_closed():
            raise InvalidRequest(f"target: {subagent.label} has ended ({self._known[subagent.id].state})")
        mailbox.put(text, tainted=authority.tainted)

    # -- start and end ---------------------------------------------------------------------------------------------

    async def recover(self) -> int:
        """Resume after a stop or a crash: orphans are closed, and unheard results are announced.

        To be called once, when the runner has recovered. Returns how many were interrupted.
        """
        interrupted = 0
        rows = await self._store.all()
        left = [each for each in rows if each.state is SubagentState.RUNNING]
        waited_for = {each.requester_key for each in left}
        closed: list[Subagent] = []
        for each in left:
            found = await self._runs.find(each.run_id)
            # One that still waited for its own subagents has not given its result yet.
            ended = found if isinstance(found, RunResult) and each.session_key not in waited_for else None
            closed.append(self._ended(each, ended, at_start=True))
            interrupted += closed[-1].state is SubagentState.INTERRUPTED
        await self._store.update(closed)
        self._known = {each.id: each for each in rows} | {each.id: each for each in closed} | self._known
        for key in self._places.bound_tasks():
            if key not in self._mail:
                await self._places.end_task(key)
        for each in list(self._known.values()):
            if each.announced_ms is None:
                self._report(each)
        return interrupted

    async def archive(self) -> None:
        """Archive subagents that ended long enough ago, repeatedly."""
        while True:
            for each in list(self._known.values()):
                session = self._parts.sessions.get(each.session_key)
                last_ms = max(each.ended_ms or 0, session.updated_ms if session is not None else 0)
                due = last_ms + each.archive_after * 60_000 <= self._parts.now_ms()
                if due and each.announced_ms is not None and not self._places.has_thread(each.session_key):
                    await self._forget(each)
            await self._parts.clock.sleep(ARCHIVE_EVERY_S)

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _drive(self, subagent: Subagent, request: RunRequest, mailbox: SubagentMail) -> None:
        """Run a subagent until it has answered and heard of all its own subagents."""
        until = None if request.timeout_s is None else self._parts.clock.monotonic() + request.timeout_s

        def steering(authority: Authority) -> Steering:
            async def take() -> Sequence[SteeredMessage]:
                return [
                    SteeredMessage(new_id(), user_message(text)) for text in mailbox.take(tainted=authority.tainted)
                ]

            return Steering(lambda: mailbox.waits(tainted=authority.tainted), take)

        while True:
            authority = request.context.authority
            begin = partial(_unless_stopped, mailbox, request.message)
            result = await self._run(replace(request, steering=steering(authority), load=begin))
            left = None if until is None else until - self._parts.clock.monotonic()
            more = result.status is RunStatus.OK and (mailbox.any() or self._is_open_below(subagent.session_key))
            if not more or mailbox.is_closed() or (left is not None and left <= 0):
                break
            try:
                async with asyncio.timeout(left):
                    await mailbox.wait(lambda: self._is_open_below(subagent.session_key))  # noqa: B023  awaited here
            except TimeoutError:
                result = replace(result, status=RunStatus.TIMEOUT)
                break
            if mailbox.is_closed() or not mailbox.any():
                break
            texts, tainted = mailbox.take_all()
            subagent = self._known[subagent.id] = replace(self._known[subagent.id], run_id=f"{RUN_PREFIX}{new_id()}")
            await self._store.update([subagent])
            context = Context(authority.narrow(tainted=tainted or result.tainted), parent_id=request.context.id)
            message = user_message("\n\n".join(texts))
            request = replace(request, run_id=subagent.run_id, message=message, context=context, timeout_s=left)
        if mailbox.is_closed():
            result = replace(result, status=RunStatus.ABORTED)
        mailbox.close()
        self._mail.pop(subagent.session_key, None)
        await self._close(self._known[subagent.id], result)

    async def _run(self, request: RunRequest) -> RunResult:
        try:
            return await self._runner.run_until_kept(request)
        except HubError as error:
            return RunResult(request.run_id, request.session_key, RunStatus.ERROR, error=error.as_dict())

    async def _close(self, subagent: Subagent, result: RunResult) -> None:
        ended = self._ended(subagent, result)
        while True:
            try:
                await self._places.end_task(ended.session_key)
                await self._store.update([ended])
                break
            except HubError as error:
                _log.error("the end of subagent %s waits: %s", subagent.id, error.message)
                await self._parts.clock.sleep(2.0)
        self._known[ended.id] = ended
        if (above := self._mail.get(ended.requester_key)) is not None:
            above.wake()
        if ended.state is not SubagentState.COMPLETED:
            self.stop_below(ended.session_key)
        self._parts.bus.fire("subagent_ended", _facts(ended))
        if ended.announced_ms is None:
            self._report(ended)
        else:
            self._settled([ended])

    def _ended(self, subagent: Subagent, result: RunResult | None, *, at_start: bool = False) -> Subagent:
        """Return a subagent with the end that the runner reported."""
        now = self._parts.now_ms()
        if result is None or (result.error or {}).get("code") == "INTERRUPTED":
            return replace(subagent, state=SubagentState.INTERRUPTED, ended_ms=now)
        state = _STATES[result.status]
        error = "" if state is SubagentState.COMPLETED else str((result.error or {}).get("message") or "")
        session = self._parts.sessions.get(subagent.session_key)
        usage = session.usage if session is not None and session.usage.total_tokens else result.usage
        return replace(
            subagent,
            state=state,
            ended_ms=now,
            result="\n\n".join(filter(None, [result.reply, error])),
            tainted=result.tainted or at_start,
            model=result.model or subagent.model,
            tokens=usage.total_tokens,
            cost_usd=usage.cost_usd,
            announced_ms=now if state is SubagentState.KILLED else None,
        )

    def _report(self, subagent: Subagent) -> None:
        """Report an end to the requester: as mail to a running subagent, else in a turn of its session."""
        above = self.at(subagent.requester_key)
        while above is not None:
            mailbox = self._mail.get(above.session_key)
            if mailbox is not None and not mailbox.is_closed() and subagent.announce_id is None:
                if not is_skipped(subagent):
                    mailbox.put(announcement([subagent]), tainted=subagent.tainted)
                done = replace(subagent, announced_ms=self._parts.now_ms())
                self._parts.tasks.spawn(self._store.update([done]), name=f"note the result of {subagent.id}")
                self._settled([done])
                return
            # Whoever hears it instead hears it under its own rights, and answers where its own answers go.
            subagent = replace(
                subagent,
                requester_key=above.requester_key,
                requester_agent=above.requester_agent,
                authority=above.authority,
                place=above.place,
            )
            above = self.at(above.requester_key)
        self._announcer.add(subagent)

    def _settled(self, subagents: Iterable[Subagent]) -> None:
        for each in subagents:
            known = self._known.get(each.id, each)
            self._known[each.id] = replace(known, announce_id=each.announce_id, announced_ms=each.announced_ms)
            if each.delete and self._parts.sessions.get(each.session_key) is not None:
                self._parts.tasks.spawn(
                    self._parts.sessions.delete(each.session_key), name=f"delete the session of {each.id}"
                )

    async def _forget(self, subagent: Subagent) -> None:
        try:
            await self._parts.sessions.delete(subagent.session_key)
            await self._store.delete(subagent.id)
        except HubError as error:
            _log.warning("subagent %s is not archived: %s", subagent.id, error.message)
            return
        self._known.pop(subagent.id, None)

    def _is_open_below(self, session_key: str) -> bool:
        return any(each.requester_key == session_key for each in self.running())

    def _depth(self, session_key: str) -> int:
        try:
            key = SessionKey.parse(session_key)
        except InvalidRequest:
            return 0
        known = self.at(session_key)
        return known.depth if known else len(key.within) + 1 if key.kind is SessionKind.SUBAGENT else 0


_STATES = {
    RunStatus.OK: SubagentState.COMPLETED,
    RunStatus.ERROR: SubagentState.FAILED,
    RunStatus.ABORTED: SubagentState.KILLED,
    RunStatus.TIMEOUT: SubagentState.TIMED_OUT,
}


async def _unless_stopped(mailbox: SubagentMail, message: Message) -> Message:
    """Return the run's request; ends here if it was stopped before the runner knew of it."""
    if mailbox.is_closed():
        raise Conflict("it was stopped before it began")
    return message


def _facts(subagent: Subagent) -> dict[str, object]:
    return {
        "subagent_id": subagent.id,
        "run_id": subagent.run_id,
        "session_key": subagent.session_key,
        "requester_key": subagent.requester_key,
        "label": subagent.label,
        "agent_id": subagent.agent_id,
        "state": subagent.state.value,
        "depth": subagent.depth,
    }
