"""The runner: takes requests, runs each once, and sees each to its end.

Order of what is made durable: the user's words are in the transcript before the first model call; the final entry is on
the disk before the row says that the run has ended; what the request wants done then is in the same transaction, and so
is the final entry where transcripts are in the database.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from msgspec.structs import replace

from hub.agent.compaction.asked import CompactionCall, compact_session
from hub.agent.compaction.compact import Compacted
from hub.agent.parts import Before, BeforeCompaction, RunDependencies
from hub.agent.prepare import prepare
from hub.agent.run import AgentRun, Phase
from hub.agent.run_request import ActiveRun, Answered, Recovered, RunOutcome, RunRequest, RunResult, RunStatus
from hub.agent.runs.store import RunRowState, RunStore
from hub.agent.runs.trace import RunTrace
from hub.agent.runs.unfinished import settle_left_open
from hub.agent.steps import finish, leave, result_of, work
from hub.core.context import Context
from hub.core.errors import HubError, NotFound, Unavailable
from hub.core.ids import new_id
from hub.core.lanes import Lanes
from hub.core.sql import SqlConnection
from hub.sessions.transcript import Transcript
from hub.sessions.transcript_file import PendingSync
from hub.skills.registry import SkillRegistry
from hub.storage.database import Database
from hub.storage.errors import StorageError

__all__ = ["ActiveRun", "AgentRunner", "Recovered", "RunRequest", "RunResult", "RunStatus"]

_log = logging.getLogger(__name__)

EVENT_RUN_TRACED = "run_traced"
"""After `run_finished`, with the steps of the run's trace; only where somebody listens."""
KEEP_RETRY_S = 2.0
ENDED_KEPT = 1_000
"""Runs that are remembered, without their messages, for those who ask again; of older ones the database knows."""


class AgentRunner:
    """Runs agents.

    Args:
        parts: The dependencies of runs; their task owner owns the runs.
        db: The hub database.
        lanes: How many run at once.
    """

    def __init__(self, parts: RunDependencies, db: Database, lanes: Lanes) -> None:
        self.parts = parts
        self._db = db
        self._lanes = lanes
        self._tasks = parts.tasks
        self._runs = RunStore(db, parts.now_ms)
        self._asking = asyncio.Lock()
        self._active: dict[str, AgentRun] = {}
        # None: its row is written, and `run` is about to be called.
        self._ended: OrderedDict[str, RunResult | None] = OrderedDict()
        # With the transcript whose last entries wait for the same transaction, where it is a table.
        self._undelivered: dict[str, tuple[RunResult, Transcript | None]] = {}
        self._clearing: list[Callable[[str], list[str]]] = []
        self._dropping: list[Callable[[str | None, str | None], list[str]]] = []

    def on_begin(self, before: Before) -> None:
        """Add a callback before each run of a session hears its words; it may insert text before them.

        They are asked one after the other, in the order in which they were added; one that fails is logged, and the
        run goes on.
        """
        self.parts = replace(self.parts, before=(*self.parts.before, before))

    def on_compaction(self, before: BeforeCompaction) -> None:
        """Add a callback before a conversation is compacted."""
        self.parts = replace(self.parts, before_compaction=(*self.parts.before_compaction, before))

    def compact(self, call: CompactionCall) -> asyncio.Task[Compacted | None]:
        """Begin to compact a conversation; see `compact_session`. Cancelling the awaiter does not stop the task."""
        return self._tasks.spawn(compact_session(self.parts, self._lanes, call), name=f"compact {call.session_key}")

    def use_skills(self, skills: SkillRegistry) -> None:
        """Offer skills to the runs from now on."""
        self.parts = replace(self.parts, skills=skills)

    def on_abort(self, clear: Callable[[str], list[str]]) -> None:
        """Add a callback for a stopped session: it stops what was begun there, and returns those runs."""
        self._clearing.append(clear)

    def on_drop(self, drop: Callable[[str | None, str | None], list[str]]) -> None:
        """Add a callback that drops the waiting messages of a stopped session or run, and returns their runs."""
        self._dropping.append(drop)

    # -- asking ----------------------------------------------------------------------------------------------------

    def insert_queued(self, connection: SqlConnection, request: RunRequest) -> None:
        """Write the row of a run that is about to start; in the caller's transaction and thread."""
        self._runs.insert(connection, request, request.context, RunRowState.QUEUED)
        self._ended[request.run_id] = None

    def start(self, request: RunRequest, answered: Answered | None = None) -> asyncio.Task[RunResult]:
        """Begin a run with a new id; `answered` gets its durable result before any other listener."""
        run = AgentRun(request, request.context.child(), self.parts.now_ms(), RunTrace(self.parts.clock))
        self._active[request.run_id] = run
        self.parts.bus.fire("run_queued", {**run.facts}, run.context)
        run.task = self._tasks.spawn(self._perform(run, answered), name=f"run {request.run_id}")
        return run.task

    async def run(self, request: RunRequest) -> RunResult:
        """Run once and return the result; errors, limits and aborts are returned as results.

        A run id that is known already is not run again: a caller joins the active run, or gets the result that
        there was; the end of a message's run that the database did not take (STORAGE) is written then.

        Raises:
            HubError: The database could not be asked whether the run is known.

        Cancelling it leaves the run going; `abort` stops it.
        """
        # One after the other, so that those who ask at the same time get their turns in the order in which they asked.
        async with self._asking:
            active = self._active.get(request.run_id)
            if active is None and (known := await self._known(request)) is not None:
                return known
            task = active.task if active is not None and active.task is not None else self.start(request)
        return await asyncio.shield(task)

    async def run_until_kept(self, request: RunRequest) -> RunResult:
        """Run once, and retry writing its end until the database accepts it: on a full disk, once there is room."""
        while True:
            try:
                result = await self.run(request)
            except StorageError as error:
                _log.debug("run %s: its end waits: %s", request.run_id, error)
            else:
                if (result.error or {}).get("code") != "STORAGE":
                    return result
            await self.parts.clock.sleep(KEEP_RETRY_S)

    def abort(self, run_id: str | None = None, session_key: str | None = None, *, waiting: bool = True) -> list[str]:
        """Stop a run, or the runs of a conversation, or a run if it belongs to that one; return the stopped runs.

        They end by themselves soon after: what was said and done until then stays in the transcript. What waits is
        dropped if `waiting`, else it is answered next. Without both, nothing is stopped.
        """
        if run_id is None and session_key is None:
            return []
        stopped = [
            each.request.run_id
            for each in list(self._active.values())
            if run_id in (None, each.request.run_id) and session_key in (None, each.request.session_key)
            if each.stop(RunOutcome.aborted())
        ]
        if session_key is not None and run_id is None:
            stopped += [each for clear in self._clearing for each in clear(session_key)]
        return stopped + [each for drop in self._dropping if waiting for each in drop(session_key, run_id)]

    def active(self) -> list[ActiveRun]:
        """Return the queued and running runs, oldest first."""
        return [active.snapshot() for active in self._active.values()]

    def trace(self, run_id: str) -> dict[str, Any] | None:
        """Return the trace of a queued or running run, as plain data; None for any other."""
        active = self._active.get(run_id)
        return active.trace.as_dict() if active is not None else None

    async def wait(self, run_id: str, timeout_s: float | None = None) -> RunResult | None:
        """Return the result of a run when it ends; None after `timeout_s` seconds.

        Raises:
            NotFound: There is no such run.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._wait(run_id)
        except TimeoutError:  # however short the time was, what has ended is known
            return await self._result(run_id)

    async def _wait(self, run_id: str) -> RunResult:
        while True:
            async with self._asking:  # what was asked for before this has begun by now
                active = self._active.get(run_id)
            if active is not None and active.task is not None:
                return await asyncio.shield(active.task)
            where, types = {"run_id": run_id}, ("run_queued", "run_settled")
            moved = [asyncio.ensure_future(self.parts.bus.wait_for(type, where)) for type in types]
            try:
                if (ended := await self._result(run_id)) is not None:
                    return ended
                if run_id not in self._active and self._ended.get(run_id) is None:  # it may have begun and ended
                    await asyncio.wait(moved, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in moved:
                    each.cancel()

    async def _result(self, run_id: str) -> RunResult | None:
        """Return the result of an ended run, None for an open one; raises NotFound for an unknown one."""
        async with self._asking:
            if (kept := self._ended.get(run_id)) is not None or run_id in self._active:
                return kept
        found = await self._runs.find(run_id)
        if found is None and run_id not in self._active:
            raise NotFound(f"there is no run {run_id[:100]!r}", details={"run_id": run_id[:100]})
        return found if isinstance(found, RunResult) else None

    async def recover(self) -> Recovered:
        """Compare every interrupted run with its transcript, and settle what can be settled here.

        To be called once, before anything runs, when tools are registered.

        Raises:
            HubError: The database cannot be read or written.
        """
        recovered, answered = await settle_left_open(self.parts, self._runs, self._active)
        self._undelivered = {run_id: (result, None) for run_id, result in answered.items()}
        return recovered

    def settle(self, result: RunResult, context: Context) -> None:
        """Record the end of a message's run that never began: another run answered the message, or none does."""
        self._remember(result)
        self.parts.bus.fire("run_settled", result.as_event(), context)

    # -- running ---------------------------------------------------------------------------------------------------

    async def _known(self, request: RunRequest) -> RunResult | None:
        """Return the result of an ended run; delivers one that a crash interrupted before its end was stored."""
        run_id = request.run_id
        if (left := self._undelivered.get(run_id)) is not None:
            answered, transcript = left
            if transcript is not None:
                await transcript.sync()
            await self._db.write(self._runs.mark_ended(request, request.context, answered))
            self._undelivered.pop(run_id, None)
            self._remember(answered)
            return answered
        if run_id in self._ended:
            return self._ended[run_id] or self._ended.pop(run_id)
        found = await self._runs.find(run_id)
        return found if isinstance(found, RunResult) else None

    async def _perform(self, run: AgentRun, answered: Answered | None) -> RunResult:
        """Execute one run; only the hub's stop propagates as an exception."""
        try:
            with ExitStack() as held:
                outcome = await self._queue(run, held) or await self._execute(run)
                result = await self._end(run, outcome)
                held.callback(self._publish_end, run, result)
                asyncio.get_running_loop().call_soon(held.pop_all().close)
        finally:
            del self._active[run.request.run_id]
        self._remember(result)
        if answered is not None:
            answered(result)
        return result

    async def _queue(self, run: AgentRun, held: ExitStack) -> RunOutcome | None:
        """Wait for the run's turn, adding the release of each place it holds; return the outcome if it never came."""
        request = run.request
        if (stopped := run.begin()) is not None:
            run.phase = Phase.ENDING
            return stopped
        names = [request.lane] if run.ephemeral else [f"session:{request.session_key}", request.lane]
        try:
            for name in names:
                held.callback(await self._lanes.take(name, run.context, request.priority))
        except HubError as error:
            run.phase = Phase.ENDING
            return RunOutcome.failed(error)
        except asyncio.CancelledError:
            run.phase = Phase.ENDING
            if (stopped := run.take_stop_outcome()) is None:
                raise
            return stopped
        return None

    async def _execute(self, run: AgentRun) -> RunOutcome:
        """Execute the run and return its outcome."""
        request, parts = run.request, self.parts
        run.phase = Phase.RUNNING
        run.started_ms = parts.now_ms()
        timer: asyncio.TimerHandle | None = None
        try:
            seconds = (await prepare(parts, run)).limits.seconds
            late = partial(RunOutcome.timed_out, seconds, asked_for=seconds == request.timeout_s)
            timer = asyncio.get_running_loop().call_later(seconds, lambda: run.stop(late()))
            parts.bus.fire("run_started", {**run.facts, "model": run.model}, run.context)
            return await work(parts, run, self._record_start(run))
        except asyncio.CancelledError:
            if (stopped := run.take_stop_outcome()) is None:
                await leave(parts, run)
                raise
            return stopped
        except HubError as error:
            _log.warning("run %s failed: %s: %s", request.run_id, error.code, error.message)
            return RunOutcome.failed(error)
        except Exception:  # on any error the run must end, and its waiters must be notified
            reference = new_id()
            _log.exception("run %s failed (reference %s)", request.run_id, reference)
            return RunOutcome.broken(
                "INTERNAL", f"Something went wrong inside the hub; its log has the reason under {reference}."
            )
        finally:
            run.phase = Phase.ENDING
            if timer is not None:
                timer.cancel()

    def _record_start(self, run: AgentRun) -> Callable[[], Awaitable[None]] | None:
        """Record in the database that a run has begun; return what makes this durable before a tool starts.

        An answer without tools shares one commit with it. A message's row is on disk already; so is its session's,
        unless this run created it. Then there are no waiters.
        """
        request, session = run.request, run.session
        write = self._runs.mark_started(request, run.context, session.session_id if session is not None else None)
        self._db.post(write)
        if run.ephemeral or (request.kind == "message" and not run.is_new):
            return None
        return partial(self._db.write, write)  # what was posted is not written twice: it changes nothing then

    async def _end(self, run: AgentRun, outcome: RunOutcome) -> RunResult:
        """Make the end durable: first the transcript, where it is a file, then row and `on_final` together."""
        parts = self.parts
        try:
            sync = await finish(parts, run, outcome)
            return await self._keep(run, result_of(parts, run, outcome), sync)
        except HubError as error:
            _log.error("run %s: its end cannot be written into the transcript: %s", run.request.run_id, error.message)
            failed = outcome if outcome.error is not None else RunOutcome.failed(error)
            return await self._keep(run, result_of(parts, run, failed), None)

    async def _keep(self, run: AgentRun, result: RunResult, sync: PendingSync | None) -> RunResult:
        """Write a run's end into the database once its transcript is on disk, or with it; one thread waits for both.

        Raises:
            Unavailable: The disk does not have its transcript; nothing was written.
        """
        request = run.request
        ended = self._runs.mark_ended(request, run.context, result)
        unsynced: list[Unavailable] = []

        def write(connection: SqlConnection) -> None:
            if sync is not None:
                try:
                    sync(connection)
                except Unavailable as error:
                    unsynced.append(error)
                    raise
            ended(connection)

        try:
            if run.ephemeral and request.on_final is None:
                self._db.post(ended)
            else:
                await self._db.write(write)
                if sync is not None:
                    sync.kept()
        except HubError as error:
            if unsynced:
                raise
            _log.error("run %s: its end cannot be written into the database: %s", request.run_id, error)
            if request.kind == "message":
                self._undelivered[request.run_id] = result, run.transcript
            outcome = RunOutcome.broken("STORAGE", f"The answer could not be kept: {error}")
            return result_of(self.parts, run, outcome)
        finally:
            if sync is not None:
                sync.drop()
        return result

    def _publish_end(self, run: AgentRun, result: RunResult) -> None:
        """Publish the end of a run, then do the work that no one waits for."""
        request, parts = run.request, self.parts
        if parts.budgets is not None and parts.budgets.budgets:
            parts.budgets.forget(request.run_id)
        context = run.context
        if result.tainted and not context.authority.tainted:
            context = context.tainted()  # what it read goes on in what it answered
        parts.bus.fire("run_finished", {**run.facts, **result.as_event()}, context)
        run.trace.model_ended((result.error or {}).get("code"))
        if parts.bus.has_listeners(EVENT_RUN_TRACED):
            ended = {"status": result.status.value, "error": result.error, "started_ms": run.started_ms}
            parts.bus.fire(EVENT_RUN_TRACED, {**run.facts, **ended, "steps": run.trace.as_dict()["steps"]}, context)
        if parts.history is not None:
            now = parts.clock.time()
            parts.history.record_run(request.run_id, run.trace, now)
            for model, usage in run.calls:
                parts.history.record_usage(request.agent_id, request.session_key, request.run_id, model, usage, now)
        if run.session is None or parts.sessions.get(request.session_key) is None:
            return
        parts.sessions.add_usage(
            request.session_key,
            result.usage,
            turns=len(run.calls),
            context_tokens=run.context_tokens or None,
            aborted=result.status is RunStatus.ABORTED,
        )
        if run.session.tainted is not run.heard_outside:
            noting = self._note_taint(request.session_key, run.heard_outside)
            self._tasks.spawn(noting, name="note a session's taint")

    async def _note_taint(self, session_key: str, tainted: bool) -> None:
        try:
            await self.parts.sessions.patch(session_key, tainted=tainted)
        except NotFound:
            _log.debug("session %s was deleted before its taint was noted", session_key)

    def _remember(self, result: RunResult) -> None:
        self._ended[result.run_id] = replace(result, messages=(), entries=())
        while len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
