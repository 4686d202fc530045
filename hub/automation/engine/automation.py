"""One automation: armed, set off, running. What fired becomes a run, or a reason why there is none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.automation.contract import Asking, ConditionVerdict, Firing, Mode, NotRun, StepOutcome
from hub.automation.engine.armed_triggers import REPAIRS, ArmedTriggers
from hub.automation.engine.environment import Begun, EngineEnvironment, StartOutcome
from hub.automation.engine.limits import AutomationLimits
from hub.automation.engine.modes import ModeDecision, decide, refusal
from hub.automation.running.evaluate import ConditionError, check_all, check_all_later, is_sync
from hub.automation.running.execute import Ended, execute
from hub.automation.running.run import Run, RunPlan
from hub.automation.running.start_variables import run_variables
from hub.automation.running.waiting import Waiting
from hub.automation.tracing.budgets import tell_budget
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.context import CHAIN_LIMIT, Authority, Context
from hub.core.errors import HubError
from hub.core.repairs import Severity

_log = logging.getLogger(__name__)

EVENT_TRIGGERED = "automation_triggered"
EVENT_FINISHED = "automation_finished"
EVENT_NOT_RUN = "automation_not_run"
LOOP_LIMIT = 10  # how often an automation may occur in the chain of causes of its own run
OWN_CONTEXTS_KEPT = 64
BAD_OUTCOMES = frozenset({StepOutcome.FAILED, StepOutcome.TIMED_OUT})


class _Going(Struct):
    run: Run
    task: asyncio.Task[Ended]


class Automation:
    """One automation.

    Args:
        config: Validated and, when made from a blueprint, expanded.
        entity_id: Of its state.
        authority: What it may do.
        env: What all automations work with.
    """

    def __init__(self, config: Mapping[str, Any], entity_id: str, authority: Authority, env: EngineEnvironment) -> None:
        self.config = config
        self.id: str = config["id"]
        self.alias: str = config.get("alias") or self.id
        self.entity_id = entity_id
        self.authority = authority
        self._env = env
        self._parts = env.parts
        self._kept = env.kept.of(self.id)
        self._mode = Mode(config["mode"])
        self._limits = AutomationLimits(config, env.parts.clock, env.parts.spending, self.id)
        self._going: dict[str, _Going] = {}
        # Lists, which hold nothing while they are empty: most automations of a large home sleep.
        self._queued: list[tuple[Run, Firing | None]] = []
        self._armed = ArmedTriggers(config, env.parts, env.kept, self.handle)
        self._plan: RunPlan | None = None
        self._is_sync: bool | None = None
        self._variables: Any = None
        self._own: list[str] = []

    # --- facts ---

    @property
    def is_on(self) -> bool:
        """Whether its triggers count."""
        return self._wanted_on() and self._kept.paused_reason is None

    @property
    def paused_reason(self) -> str | None:
        """Why it paused itself."""
        return self._kept.paused_reason

    @property
    def failures(self) -> int:
        """How many runs failed since the last that did not."""
        return self._kept.failures

    @property
    def current(self) -> int:
        """How many runs go on."""
        return len(self._going)

    @property
    def last_triggered(self) -> float | None:
        """Seconds since the epoch."""
        return self._kept.last_triggered

    @property
    def plan(self) -> RunPlan:
        """How it runs; made when it is first needed."""
        if self._plan is None:
            self._plan = RunPlan.of_automation(self.id, self.config)
        return self._plan

    @property
    def problems(self) -> Mapping[str, str]:
        """Why a trigger cannot watch, by its index."""
        return self._armed.problems

    def next_due(self) -> float | None:
        """Return when a schedule of it sets it off next, seconds since the epoch."""
        return self._armed.next_due() if self.is_on else None

    # --- on and off ---

    def begin(self) -> None:
        """At a start of the hub: `initial_state` counts, whatever a person said before; what was due is not made up."""
        initial = self.config.get("initial_state")
        if initial is None or self._kept.enabled in (None, initial):
            return
        self._kept.enabled = None
        self._kept.armed.clear()
        self._kept.handled.clear()
        self._env.kept.changed(self.id)

    def arm(self) -> None:
        """Begin to watch, if it is on; one that paused itself goes on to watch, and tells why it does not run."""
        if self._wanted_on():
            self._armed.arm()

    def disarm(self) -> None:
        """Watch no more; runs go on."""
        self._armed.disarm()

    async def turn_on(self) -> None:
        """Watch from now on; a pause ends. What was due while it was off is not made up."""
        self._kept.enabled = True
        self._kept.paused_reason = None
        self._kept.failures = 0
        self._kept.armed.clear()
        self._kept.handled.clear()
        self._parts.repairs.clear(REPAIRS, f"{self.id}:paused")
        self.disarm()
        self.arm()
        self.show()
        await self._env.kept.write(self.id)

    async def turn_off(self, *, stop_runs: bool = True) -> None:
        """Watch no more; what runs is ended unless `stop_runs` is False."""
        self._kept.enabled = False
        await self._env.kept.write(self.id)
        self.disarm()
        if stop_runs:
            await self.stop_runs()
        self.show()

    async def stop_runs(self, reason: str = "it was turned off") -> None:
        """End all runs and forget what waits for its turn."""
        for run, _ in self._queued:
            run.cancel(reason)
        self._cancel(reason)
        current = asyncio.current_task()  # it may turn itself off
        while tasks := [going.task for going in self._going.values() if going.task is not current]:
            await asyncio.wait(tasks)

    # --- firing ---

    def handle(self, firing: Firing) -> Begun | None:
        """Take a firing; None when a condition has to be waited for. Never waits itself."""
        if firing.skipped:
            late = int(self._parts.clock.time() - (firing.planned or 0.0))
            return self._not_run(firing, NotRun.MISSED, f"it was due {late} s ago, and catch_up lets it go")
        if self._kept.paused_reason is not None:
            return self._not_run(firing, NotRun.PAUSED, f"it has paused itself: {self._kept.paused_reason}")
        if self._is_loop(firing.context):
            return self._not_run(firing, NotRun.ERROR, "it set itself off again and again, maybe by others")
        try:
            variables = self._variables_of(firing)
        except HubError as error:
            return self._not_run(firing, NotRun.ERROR, error.message)
        if self._is_sync is None:
            self._is_sync = is_sync(self.config["conditions"])
        if not self._is_sync:
            self._parts.tasks.spawn(self._ask(firing, variables), name=f"conditions of {self.entity_id}")
            return None
        try:
            verdict = check_all(self.config["conditions"], self._asking(firing, variables))
        except ConditionError as error:
            return self._undecided(firing, error)
        return self._judged(firing, variables, verdict)

    async def trigger(
        self, variables: Mapping[str, Any], context: Context, *, skip_conditions: bool = True, trigger: Any = None
    ) -> Begun:
        """Set it off as a person does; also when it is off.

        Args:
            variables: Over its own; as they are, never templates.
            trigger: What `trigger` is in templates; without it, that nothing but a person set it off.
        """
        told = {"platform": None, "id": None, "idx": None, "alias": None, "description": "run by hand"}
        firing = Firing({**told, **(trigger or {})}, context, context.authority.tainted, given=variables)
        try:
            values = self._variables_of(firing)
        except HubError as error:
            return self._not_run(firing, NotRun.ERROR, error.message)
        if skip_conditions:
            return self._judged(firing, values, ConditionVerdict(True, "conditions were skipped"))
        try:
            verdict = await check_all_later(self.config["conditions"], self._asking(firing, values))
        except ConditionError as error:
            return self._undecided(firing, error)
        return self._judged(firing, values, verdict)

    @property
    def is_used_up(self) -> bool:
        """Whether it was to remove itself once it ran, did run, and is never set off again."""
        return bool(self.config["delete_after_run"]) and not self._going and self._armed.is_over

    def take_up(self, waiting: Waiting) -> None:
        """Go on with a run that a stop or a crash cut off, at its position."""
        run = waiting.restore(self.plan, self._parts)
        if self._going and self._mode is Mode.QUEUED:
            self._queued.append((run, None))
        else:
            self._go(run)

    async def _ask(self, firing: Firing, variables: Mapping[str, Any]) -> None:
        try:
            verdict = await check_all_later(self.config["conditions"], self._asking(firing, variables))
        except ConditionError as error:
            self._undecided(firing, error)
            return
        self._judged(firing, variables, verdict)

    def _undecided(self, firing: Firing, error: ConditionError) -> Begun:
        return self._not_run(firing, NotRun.ERROR, error.message, error.children)

    def _judged(self, firing: Firing, variables: Mapping[str, Any], verdict: ConditionVerdict) -> Begun:
        if not verdict.holds:
            return self._not_run(firing, NotRun.CONDITIONS, verdict.reason, verdict.children)
        refusal = self._limits.refusal()
        if refusal is not None:
            if refusal.budget is not None and refusal.is_new:
                context = self._context(firing)
                tell_budget(self._parts.bus, self.id, refusal.budget, refusal.spent, refusal.limit, context)
            return self._not_run(firing, refusal.reason, refusal.text)
        decision = decide(self._mode, self.config["max"], len(self._going), len(self._queued))
        if decision is ModeDecision.REFUSE:
            return self._exceeded(firing)
        self._limits.count()
        match decision:
            case ModeDecision.START:
                return self._go(self._run(firing, variables, verdict), firing)
            case ModeDecision.RESTART:
                replaced = self._cancel("it was set off again")
                return self._go(self._run(firing, variables, verdict), firing, replaced)
            case ModeDecision.QUEUE:
                return self._queue(self._run(firing, variables, verdict), firing)

    def _exceeded(self, firing: Firing) -> Begun:
        text = refusal(self._mode, self.config["max"])
        level = self.config["max_exceeded"]
        if level != "silent":
            _log.log(
                logging.getLevelName(level.upper()), "automation %s was set off and did not run: %s", self.id, text
            )
        return self._not_run(firing, NotRun.MODE, text)

    def _cancel(self, reason: str) -> list[asyncio.Task[Ended]]:
        """End all runs; return their tasks, which have still to be waited for."""
        tasks = []
        for going in self._going.values():
            going.run.cancel(reason)
            tasks.append(going.task)
        return tasks

    def _run(self, firing: Firing, variables: Mapping[str, Any], verdict: ConditionVerdict) -> Run:
        plan = self.plan
        run = Run(
            plan,
            self._parts,
            self._context(firing),
            variables=variables,
            trigger=firing.trigger,
            keeper=self._env.waiting if plan.persist or self.config["approval"] == "required" else None,
        )
        run.defined = True
        if self._env.traces is not None:
            self._env.traces.begin(run.trace)
        for place, child in verdict.children.items():
            run.trace.verdict(f"condition/{place}", child)
        return run

    def _queue(self, run: Run, firing: Firing) -> Begun:
        """Let a run wait for its turn; one that is kept is written down now, another makes up for itself."""
        self._queued.append((run, firing))
        if run.keeper is not None:
            self._parts.tasks.spawn(self._keep(run, firing), name=f"keep a run of {self.entity_id}")
        return Begun(run.id, text="it waits for its turn")

    def _go(self, run: Run, firing: Firing | None = None, replaced: Sequence[asyncio.Task[Ended]] = ()) -> Begun:
        task = self._parts.tasks.spawn(self._perform(run, firing, replaced), name=f"run of {self.entity_id}")
        self._going[run.id] = _Going(run, task)
        self._own.append(run.context.id)
        del self._own[:-OWN_CONTEXTS_KEPT]
        # Told behind the first action: nobody who waits for it should wait for this.
        asyncio.get_running_loop().call_soon(self._tell_start, run)
        return Begun(run.id, task=task)

    async def _perform(self, run: Run, firing: Firing | None, replaced: Sequence[asyncio.Task[Ended]]) -> Ended:
        started = self._parts.clock.time()
        run.task = asyncio.current_task()
        try:
            ended = await self._through(run, firing, replaced)
        except asyncio.CancelledError:
            if run.cancelled is None or self._parts.tasks.closed:
                self._cut_off(run)
                raise
            ended = Ended(StepOutcome.CANCELLED, reason=run.cancelled)
        except HubError as error:
            ended = Ended(StepOutcome.FAILED, error.message, failure=error)
        run.task = None
        if self._parts.tasks.closed:
            self._cut_off(run)
        else:
            await self._finish(run, ended, started)
        return ended

    async def _through(self, run: Run, firing: Firing | None, replaced: Sequence[asyncio.Task[Ended]]) -> Ended:
        if replaced:
            await asyncio.wait(replaced)
        if run.cancelled is not None:
            return Ended(StepOutcome.CANCELLED, reason=run.cancelled)
        await self._keep(run, firing)
        if self.config["approval"] == "required" and not await self._env.approve(run):
            return Ended(StepOutcome.DENIED, "nobody approved it")
        return await execute(run)

    async def _keep(self, run: Run, firing: Firing | None) -> None:
        """Write down, before anything is done, that this occurrence is handled and by which run: both or neither."""
        is_marked = firing is not None and self._mark(firing)
        if self._env.waiting is not None and run.keeper is not None and not run.saved:
            await self._env.kept.write(self.id, self._env.waiting.saving(run))
            run.saved = True
        elif is_marked and run.keeper is None:
            await self._env.kept.write(self.id)

    def _mark(self, firing: Firing) -> bool:
        """Remember that an occurrence of a schedule is handled; return whether there was anything to remember."""
        if not firing.key or firing.planned is None:
            return False
        before = self._kept.handled.get(firing.key)
        if before is None or firing.planned > before:
            self._kept.handled[firing.key] = firing.planned
        return True

    # --- what comes behind ---

    def _cut_off(self, run: Run) -> None:
        """The hub stops: what is kept goes on at the next start, the rest ends here."""
        if run.keeper is not None:
            if self._env.traces is not None:
                self._env.traces.forget(run.id)
            return
        run.trace.end(StepOutcome.INTERRUPTED, "the hub stopped")
        if self._env.traces is not None:
            self._env.traces.add(run.trace, self.config["trace"]["stored_traces"])

    async def _finish(self, run: Run, ended: Ended, started: float) -> None:
        self._going.pop(run.id, None)
        never_begun = not run.trace.finished
        if never_begun:
            run.trace.end(ended.outcome, ended.error or ended.reason or None)
        if self._env.traces is not None:
            self._env.traces.add(run.trace, self.config["trace"]["stored_traces"])
        self._count(ended)
        self._parts.bus.fire(
            EVENT_FINISHED,
            {
                "automation_id": self.id,
                "run_id": run.id,
                "outcome": ended.outcome.value,
                "error": ended.error,
                "conversation_response": ended.conversation_response,
            },
            run.context,
        )
        self.show(run.context)
        if self._queued:
            self._go(*self._queued.pop(0))
        if never_begun and run.keeper is not None:
            await run.keeper.forget(run.id)
        finished = self._parts.clock.time()
        await self._env.tell(
            StartOutcome(self.id, self.alias, run.id, ended.outcome, ended.error, started, finished, self.config)
        )
        if (
            self.config["delete_after_run"]
            and ended.outcome is not StepOutcome.CANCELLED
            and self._env.delete is not None
        ):
            await self._env.delete(self.id)

    def _count(self, ended: Ended) -> None:
        if ended.outcome not in BAD_OUTCOMES:
            if self._kept.failures:
                self._kept.failures = 0
                self._env.kept.changed(self.id)
            return
        self._kept.failures += 1
        limit = self.config["pause_after"]
        if limit and self._kept.failures >= limit and self._kept.paused_reason is None:
            self._kept.paused_reason = f"it failed {self._kept.failures} times in a row: {ended.error}"
            self._parts.repairs.raise_(
                REPAIRS,
                f"{self.id}:paused",
                f"The automation {self.alias} has paused itself",
                f"{self._kept.paused_reason} Mend it and turn it on again.",
                severity=Severity.WARNING,
                command=f"homarus automation on {self.id}",
            )
        self._env.kept.changed(self.id)

    def _tell_start(self, run: Run) -> None:
        self._kept.last_triggered = self._parts.clock.time()
        self._env.kept.changed(self.id)
        self._parts.bus.fire(
            EVENT_TRIGGERED,
            {
                "automation_id": self.id,
                "name": self.alias,
                "entity_id": self.entity_id,
                "run_id": run.id,
                "trigger": run.trace.trigger.get("description"),
            },
            run.context,
        )
        self.show(run.context)

    def show(self, cause: Context | None = None) -> None:
        """Set its entity's state; `cause` is the run that changed it, so that a loop through states is seen."""
        last = self._kept.last_triggered
        self._parts.states.set(
            self.entity_id,
            "on" if self.is_on else "off",
            {
                "friendly_name": self.alias,
                "id": self.id,
                "mode": self._mode.value,
                "current": len(self._going),
                "last_triggered": last,
                **({"paused": self._kept.paused_reason} if self._kept.paused_reason else {}),
            },
            cause,
        )

    def _not_run(
        self, firing: Firing, reason: NotRun, text: str, children: Mapping[str, ConditionVerdict] | None = None
    ) -> Begun:
        if self._mark(firing):
            self._env.kept.changed(self.id)
        if self._env.traces is not None:
            self._env.traces.add_not_run(self.id, self.alias, firing.trigger, reason, text, children or {})
        self._parts.bus.fire(
            EVENT_NOT_RUN, {"automation_id": self.id, "reason": reason.value, "text": text}, firing.context
        )
        return Begun(not_run=reason, text=text)

    # --- inside ---

    def _wanted_on(self) -> bool:
        initial = self.config.get("initial_state")
        if self._kept.enabled is not None:
            return self._kept.enabled
        return True if initial is None else bool(initial)

    def _variables_of(self, firing: Firing) -> Mapping[str, Any]:
        return run_variables(self.config, firing, self._parts.states.get(self.entity_id), self._parts.templates)

    def _asking(self, firing: Firing, variables: Mapping[str, Any]) -> Asking:
        return Asking(self._parts, variables, self._context(firing), self.id, self.config["templates"])

    def _context(self, firing: Firing) -> Context:
        cause = firing.context
        tainted = firing.tainted or is_somebody_elses(cause)
        authority = self.authority.narrow(tainted=True) if tainted else self.authority
        if cause is None:
            return Context(authority)
        return Context(authority, parent_id=cause.id, chain=(*cause.chain[-(CHAIN_LIMIT - 1) :], cause.id))

    def _is_loop(self, cause: Context | None) -> bool:
        if cause is None or not self._own:
            return False
        own = set(self._own)
        again = sum(1 for id in (*cause.chain, cause.id) if id in own)
        # A chain keeps so many causes and no more: in a wide ring of automations each stands in it only a few times.
        return again >= LOOP_LIMIT or (again > 0 and len(cause.chain) >= CHAIN_LIMIT)
