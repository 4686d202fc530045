"""The runs of one automation: begun, queued, ended, counted and kept over a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hub.automation.contract import Firing, RunOutcome
from hub.automation.engine.armed_triggers import REPAIRS
from hub.automation.engine.environment import ActiveRun, EngineEnvironment, FiringResult, StartOutcome
from hub.automation.running.execute import BAD_OUTCOMES, RunEnd, execute, warn
from hub.automation.running.run import RunState
from hub.automation.tracing.timeline_data import RunStart
from hub.core.context import CHAIN_LIMIT, Context
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Severity

EVENT_TRIGGERED = "automation_triggered"
EVENT_FINISHED = "automation_finished"
LOOP_LIMIT = 10
"""How often an automation may occur among the causes of its own run."""
FAN_OUT_LIMIT = 64
"""Runs from one first cause, of an automation that is among its own causes: more are a loop."""
OWN_CONTEXTS_KEPT = 256


class AutomationRuns:
    """The runs of one automation.

    Args:
        config: The automation, validated.
        entity_id: The id of its state.
        env: The shared dependencies of automations.
        show: Sets its entity's state; given the run that changed it.
    """

    __slots__ = (
        "_active",
        "_alias",
        "_config",
        "_entity_id",
        "_env",
        "_id",
        "_kept",
        "_own",
        "_parts",
        "_queued",
        "_show",
    )

    def __init__(
        self, config: Mapping[str, Any], entity_id: str, env: EngineEnvironment, show: Callable[[Context | None], None]
    ) -> None:
        self._config = config
        self._id: str = config["id"]
        self._alias: str = config.get("alias") or self._id
        self._entity_id = entity_id
        self._env = env
        self._parts = env.parts
        self._kept = env.kept.of(self._id)
        self._show = show
        self._active: dict[str, ActiveRun] = {}
        # These hold nothing while they are empty: most automations of a large home sleep.
        self._queued: list[tuple[RunState, Firing | None]] = []
        self._own: dict[str, str] = {}  # contexts of its last runs, with their first cause

    @property
    def current(self) -> int:
        """The number of active runs."""
        return len(self._active)

    @property
    def queued(self) -> int:
        """The number of queued runs."""
        return len(self._queued)

    def go(
        self, run: RunState, firing: Firing | None = None, replaced: Sequence[asyncio.Task[RunEnd]] = ()
    ) -> FiringResult:
        """Start a run.

        Args:
            firing: What set it off; None for a resumed run.
            replaced: Runs that were cancelled for it, which end first.
        """
        task = self._parts.tasks.spawn(self._perform(run, firing, replaced), name=f"run of {self._entity_id}")
        self._active[run.id] = ActiveRun(run, task)
        self._own[run.context.id] = _root(run.context)
        if len(self._own) > OWN_CONTEXTS_KEPT:
            del self._own[next(iter(self._own))]
        self._kept.last_triggered = self._parts.clock.time()
        self._env.kept.mark_changed(self._id)
        self._show(run.context)
        # Fired after the first action, which should not wait for it.
        asyncio.get_running_loop().call_soon(self._tell_start, run)
        return FiringResult(run.id, task=task)

    def queue(self, run: RunState, firing: Firing | None) -> FiringResult:
        """Queue a run; a kept run is written down now, any other is made up for later."""
        self._queued.append((run, firing))
        if run.keeper is not None:
            self._parts.tasks.spawn(self._keep(run, firing), name=f"keep a run of {self._entity_id}")
        return FiringResult(run.id, text="it waits for its turn")

    def cancel(self, reason: str) -> list[asyncio.Task[RunEnd]]:
        """Stop all runs; return their tasks, which the caller must await."""
        tasks = []
        for active in self._active.values():
            active.run.cancel(reason)
            tasks.append(active.task)
        return tasks

    async def stop(self, reason: str) -> None:
        """Stop all active and queued runs."""
        for run, _ in self._queued:
            run.cancel(reason)
        self.cancel(reason)
        current = asyncio.current_task()  # it may turn itself off
        while tasks := [active.task for active in self._active.values() if active.task is not current]:
            await asyncio.wait(tasks)

    def mark(self, firing: Firing) -> bool:
        """Mark an occurrence of a schedule as handled; return whether there was one."""
        if not firing.key or firing.planned is None:
            return False
        before = self._kept.handled.get(firing.key)
        if before is None or firing.planned > before:
            self._kept.handled[firing.key] = firing.planned
        return True

    def is_loop(self, cause: Context | None) -> bool:
        """Return whether it triggered itself repeatedly, directly or through others."""
        if cause is None or not self._own:
            return False
        again = sum(1 for id in (*cause.chain, cause.id) if id in self._own)
        if again == 0:
            return False
        # A chain keeps so many causes and no more: in a wide ring of automations each is in it only a few times.
        if again >= LOOP_LIMIT or len(cause.chain) >= CHAIN_LIMIT:
            return True
        # Where each run sets off several, their number doubles long before any chain is that long.
        root = _root(cause)
        return sum(1 for each in self._own.values() if each == root) >= FAN_OUT_LIMIT

    # --- inside ---

    async def _perform(self, run: RunState, firing: Firing | None, replaced: Sequence[asyncio.Task[RunEnd]]) -> RunEnd:
        started = self._parts.clock.time()
        run.task = asyncio.current_task()
        try:
            ended = await self._through(run, firing, replaced)
        except asyncio.CancelledError:
            if run.cancelled is None or self._parts.tasks.closed:
                self._cut_off(run)
                raise
            ended = RunEnd(RunOutcome.CANCELLED, reason=run.cancelled)
        except HubError as error:
            ended = RunEnd(RunOutcome.FAILED, error.message, failure=error)
            warn(run, ended)
        run.task = None
        if self._parts.tasks.closed:
            self._cut_off(run)
        else:
            await self._finish(run, ended, started)
        return ended

    async def _through(self, run: RunState, firing: Firing | None, replaced: Sequence[asyncio.Task[RunEnd]]) -> RunEnd:
        if replaced:
            await asyncio.wait(replaced)
        if run.cancelled is not None:
            return RunEnd(RunOutcome.CANCELLED, reason=run.cancelled)
        await self._keep(run, firing)
        if self._config["approval"] == "required" and not await self._env.approve(run):
            return RunEnd(RunOutcome.DENIED, "it was not approved")
        return await execute(run)

    async def _keep(self, run: RunState, firing: Firing | None) -> None:
        """Record in one transaction, before anything is done, that this occurrence is handled and by which run."""
        is_marked = firing is not None and self.mark(firing)
        if self._env.waiting is not None and run.keeper is not None and not run.saved:
            await self._env.kept.write(self._id, self._env.waiting.save_statements(run))
            run.saved = True
        elif is_marked and run.keeper is None:
            await self._env.kept.write(self._id)

    def _cut_off(self, run: RunState) -> None:
        """Interrupt runs because the hub stops: kept runs resume at the next start, the rest end."""
        if run.keeper is not None:
            if self._env.traces is not None:
                self._env.traces.forget(run.id)
            return
        run.trace.end(RunOutcome.INTERRUPTED, phrase("the hub stopped"))
        if self._env.traces is not None:
            self._env.traces.add(run.trace, self._config["trace"]["stored_traces"])

    async def _finish(self, run: RunState, ended: RunEnd, started: float) -> None:
        self._active.pop(run.id, None)
        never_begun = not run.trace.finished
        if never_begun:
            run.trace.end(ended.outcome, ended.error or ended.reason or None)
        if self._env.traces is not None:
            self._env.traces.add(run.trace, self._config["trace"]["stored_traces"])
        self._count(ended)
        self._parts.bus.fire(
            EVENT_FINISHED,
            {
                "automation_id": self._id,
                "run_id": run.id,
                "outcome": ended.outcome.value,
                "error": ended.error,
                "duration_ms": round((self._parts.clock.time() - started) * 1000),
                "conversation_response": ended.conversation_response,
            },
            run.context,
        )
        self._show(run.context)
        if self._queued:
            self.go(*self._queued.pop(0))
        if never_begun and run.keeper is not None:
            await run.keeper.forget(run.id)
        finished = self._parts.clock.time()
        await self._env.tell(
            StartOutcome(
                self._id,
                self._alias,
                run.id,
                ended.outcome,
                ended.error,
                started,
                finished,
                self._config,
                run.trace.last_begun_run,
            )
        )
        if (
            self._config["delete_after_run"]
            and ended.outcome is not RunOutcome.CANCELLED
            and self._env.delete is not None
        ):
            await self._env.delete(self._id)

    def _count(self, ended: RunEnd) -> None:
        if ended.outcome not in BAD_OUTCOMES:
            if self._kept.failures:
                self._kept.failures = 0
                self._env.kept.mark_changed(self._id)
            return
        self._kept.failures += 1
        limit = self._config["pause_after"]
        if limit and self._kept.failures >= limit and self._kept.paused_reason is None:
            self._kept.paused_reason = phrase(
                "it failed {count} times in a row: {error}", count=self._kept.failures, error=ended.error
            )
            self._parts.repairs.raise_(
                REPAIRS,
                f"{self._id}:paused",
                phrase("The automation {automation} has paused itself", automation=self._alias),
                phrase("{reason}. Fix it and turn it on again.", reason=self._kept.paused_reason),
                severity=Severity.WARNING,
                command=f"homarus automation on {self._id}",
            )
        self._env.kept.mark_changed(self._id)

    def _tell_start(self, run: RunState) -> None:
        self._parts.bus.fire(
            EVENT_TRIGGERED,
            {
                "automation_id": self._id,
                "name": self._alias,
                "entity_id": self._entity_id,
                "run_id": run.id,
                "source": run.trace.trigger.get("description"),
                "told": RunStart(run.trace, self._config),
            },
            run.context,
        )


def _root(context: Context) -> str:
    """Return the id of the first cause in a context."""
    return context.chain[0] if context.chain else context.id
