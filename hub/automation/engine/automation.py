"""One automation: armed, triggered, running. A firing becomes a run, or a reason for none."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionVerdict, Firing, Mode, NotRun
from hub.automation.engine.armed_triggers import REPAIRS, ArmedTriggers
from hub.automation.engine.automation_runs import AutomationRuns
from hub.automation.engine.environment import EngineEnvironment, FiringResult
from hub.automation.engine.limits import AutomationLimits
from hub.automation.engine.modes import ModeDecision, decide, refusal
from hub.automation.engine.saved_states import as_moment
from hub.automation.running.evaluate import ConditionError, check_all, check_all_later, is_sync
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.automation.running.start_variables import run_variables
from hub.automation.running.waiting import Waiting
from hub.automation.tracing.budgets import tell_budget
from hub.automation.tracing.timeline_data import kind_of
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.context import CHAIN_LIMIT, Authority, Context
from hub.core.errors import HubError
from hub.core.phrases import phrase

_log = logging.getLogger(__name__)

EVENT_NOT_RUN = "automation_not_run"


class Automation:
    """One automation.

    Args:
        config: Validated and, when made from a blueprint, expanded.
        entity_id: The id of its state.
        authority: Its rights.
        env: The shared dependencies of automations.
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
        self._runs = AutomationRuns(config, entity_id, env, self.show)
        self._armed = ArmedTriggers(config, env.parts, env.kept, self._fired)
        self._watches = False
        self._plan: RunPlan | None = None
        self._is_sync: bool | None = None

    # --- facts ---

    @property
    def is_on(self) -> bool:
        """Whether its triggers are active."""
        return self._wanted_on() and self._kept.paused_reason is None

    @property
    def paused_reason(self) -> str | None:
        """The reason why it paused itself."""
        return self._kept.paused_reason

    @property
    def failures(self) -> int:
        """The number of failed runs since the last success."""
        return self._kept.failures

    @property
    def current(self) -> int:
        """The number of active runs."""
        return self._runs.current

    @property
    def last_triggered(self) -> float | None:
        """Seconds since the epoch."""
        return self._kept.last_triggered

    @property
    def plan(self) -> RunPlan:
        """Its run plan; made on first use."""
        if self._plan is None:
            self._plan = RunPlan.of_automation(self.id, self.config)
        return self._plan

    @property
    def problems(self) -> Mapping[str, str]:
        """The reasons why triggers cannot watch, by index."""
        return self._armed.problems

    def next_due(self) -> float | None:
        """Return when a schedule triggers it next, seconds since the epoch."""
        return self._armed.next_due() if self.is_on else None

    # --- on and off ---

    def begin(self) -> None:
        """Start with the hub: `initial_state` overrides the saved state; missed runs are not made up."""
        initial = self.config.get("initial_state")
        if initial is None or self._kept.enabled in (None, initial):
            return
        self._kept.enabled = None
        self._kept.armed.clear()
        self._kept.handled.clear()
        self._env.kept.mark_changed(self.id)

    def arm(self) -> None:
        """Arm it if it is on; one that paused itself stays armed and reports why it does not run."""
        if self._wanted_on():
            self._watches = True
            self._armed.arm()

    def disarm(self) -> None:
        """Disarm it; its runs continue."""
        self._watches = False
        self._armed.disarm()

    async def turn_on(self) -> None:
        """Turn it on; a pause ends. Occurrences missed while it was off are not made up for."""
        self._kept.enabled = True
        self._kept.paused_reason = None
        self._kept.failures = 0
        self._kept.armed.clear()
        self._kept.handled.clear()
        self._parts.repairs.clear(REPAIRS, f"{self.id}:paused")
        self._parts.repairs.clear(REPAIRS, f"{self.id}:maker")
        self.disarm()
        self.arm()
        self.show()
        await self._env.kept.write(self.id)

    async def turn_off(self, *, stop_runs: bool = True) -> None:
        """Disarm it and stop its runs, unless `stop_runs` is False."""
        self._kept.enabled = False
        await self._env.kept.write(self.id)
        self.disarm()
        if stop_runs:
            await self.stop_runs()
        self.show()

    async def stop_runs(self, reason: str = phrase("it was turned off")) -> None:
        """Stop all active and queued runs."""
        await self._runs.stop(reason)

    # --- firing ---

    def _fired(self, firing: Firing) -> None:
        self._parts.firings.add(self._handle_queued, firing)

    def _handle_queued(self, firing: Firing) -> None:
        if self._watches:
            self.handle(firing)

    def handle(self, firing: Firing) -> FiringResult | None:
        """Handle a firing; None when a condition has to be waited for. Never waits itself."""
        if firing.skipped:
            late = int(self._parts.clock.time() - (firing.planned or 0.0))
            return self._not_run(
                firing, NotRun.MISSED, phrase("it was due {count} s ago, and catch_up skips it", count=late)
            )
        if self._kept.paused_reason is not None:
            return self._not_run(
                firing, NotRun.PAUSED, phrase("it has paused itself: {reason}", reason=self._kept.paused_reason)
            )
        if self._runs.is_loop(firing.context):
            return self._not_run(
                firing, NotRun.ERROR, phrase("it triggered itself again and again, perhaps through other automations")
            )
        try:
            variables = self._variables_of(firing)
        except HubError as error:
            return self._not_run(firing, NotRun.ERROR, error.message)
        if self._is_sync is None:
            self._is_sync = is_sync(self.config["conditions"], self._parts.kinds)
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
    ) -> FiringResult:
        """Trigger it manually, even when it is off.

        Args:
            variables: Override its own; plain values, never templates.
            trigger: The value of `trigger` in templates; without it, "run by hand".
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
        """Whether it removes itself after its run, has run, and can never be triggered again."""
        return bool(self.config["delete_after_run"]) and not self._runs.current and self._armed.is_over

    def take_up(self, waiting: Waiting) -> None:
        """Resume a run that a stop or a crash interrupted, at its position."""
        run = waiting.restore(self.plan, self._parts)
        if self._runs.current and self._mode is Mode.QUEUED:
            self._runs.queue(run, None)
        else:
            self._runs.go(run)

    async def _ask(self, firing: Firing, variables: Mapping[str, Any]) -> None:
        try:
            verdict = await check_all_later(self.config["conditions"], self._asking(firing, variables))
        except ConditionError as error:
            self._undecided(firing, error)
            return
        self._judged(firing, variables, verdict)

    def _undecided(self, firing: Firing, error: ConditionError) -> FiringResult:
        return self._not_run(firing, NotRun.ERROR, error.message, error.children)

    def _judged(self, firing: Firing, variables: Mapping[str, Any], verdict: ConditionVerdict) -> FiringResult:
        if not verdict.holds:
            return self._not_run(firing, NotRun.CONDITIONS, verdict.reason, verdict.children)
        refusal = self._limits.refusal()
        if refusal is not None:
            if refusal.budget is not None and refusal.is_new:
                context = self._context(firing)
                tell_budget(self._parts.bus, self.id, refusal.budget, refusal.spent, refusal.limit, context)
            return self._not_run(firing, refusal.reason, refusal.text)
        decision = decide(self._mode, self.config["max"], self._runs.current, self._runs.queued)
        if decision is ModeDecision.REFUSE:
            return self._exceeded(firing)
        self._limits.count()
        match decision:
            case ModeDecision.START:
                return self._runs.go(self._run(firing, variables, verdict), firing)
            case ModeDecision.RESTART:
                replaced = self._runs.cancel(phrase("it was set off again"))
                return self._runs.go(self._run(firing, variables, verdict), firing, replaced)
            case ModeDecision.QUEUE:
                return self._runs.queue(self._run(firing, variables, verdict), firing)

    def _exceeded(self, firing: Firing) -> FiringResult:
        text = refusal(self._mode, self.config["max"])
        level = self.config["max_exceeded"]
        if level != "silent":
            _log.log(
                logging.getLevelName(level.upper()), "automation %s was set off and did not run: %s", self.id, text
            )
        return self._not_run(firing, NotRun.MODE, text)

    def _run(self, firing: Firing, variables: Mapping[str, Any], verdict: ConditionVerdict) -> RunState:
        plan = self.plan
        run = RunState(
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

    def show(self, cause: Context | None = None) -> None:
        """Set its entity's state; `cause` is the run that changed it, so that a loop through states is detected."""
        self._parts.states.set(
            self.entity_id,
            "on" if self.is_on else "off",
            {
                "friendly_name": self.alias,
                "id": self.id,
                "mode": self._mode.value,
                "current": self._runs.current,
                "last_triggered": as_moment(self._kept.last_triggered),
                **({"paused": self._kept.paused_reason} if self._kept.paused_reason else {}),
            },
            cause,
        )

    def _not_run(
        self, firing: Firing, reason: NotRun, text: str, children: Mapping[str, ConditionVerdict] | None = None
    ) -> FiringResult:
        if self._runs.mark(firing):
            self._env.kept.mark_changed(self.id)
        if reason is NotRun.ERROR:
            _log.warning("automation %s was set off and did not run: %s", self.id, text)
        if self._env.traces is not None:
            about = {"kind": kind_of(self.config), "cause": firing.context.id if firing.context is not None else None}
            self._env.traces.add_not_run(self.id, self.alias, firing.trigger, reason, text, children or {}, about)
        self._parts.bus.fire(
            EVENT_NOT_RUN, {"automation_id": self.id, "reason": reason.value, "text": text}, firing.context
        )
        return FiringResult(not_run=reason, text=text)

    # --- inside ---

    def _wanted_on(self) -> bool:
        initial = self.config.get("initial_state")
        if self._kept.enabled is not None:
            return self._kept.enabled
        return True if initial is None else bool(initial)

    def _variables_of(self, firing: Firing) -> Mapping[str, Any]:
        return run_variables(self.config, firing, self._parts.states.get(self.entity_id), self._parts.templates)

    def _asking(self, firing: Firing, variables: Mapping[str, Any]) -> ConditionContext:
        return ConditionContext(self._parts, variables, self._context(firing), self.id, self.config["templates"])

    def _context(self, firing: Firing) -> Context:
        cause = firing.context
        tainted = firing.tainted or is_somebody_elses(cause)
        authority = self.authority.narrow(tainted=True) if tainted else self.authority
        if cause is None:
            return Context(authority)
        return Context(authority, parent_id=cause.id, chain=(*cause.chain[-(CHAIN_LIMIT - 1) :], cause.id))
