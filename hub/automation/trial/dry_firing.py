"""Decides the result of a firing without executing it; for simulation and backtest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.automation.contract import ConditionContext, ConditionVerdict, Firing, NotRun
from hub.automation.engine.limits import AutomationLimits
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.dry_run import DryRun
from hub.automation.running.evaluate import ConditionError, check_all_later
from hub.automation.running.execute import RunEnd, execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.automation.running.start_variables import run_variables
from hub.automation.tracing.trace import plain_value, verdict_steps
from hub.core.context import Context
from hub.core.errors import HubError

RUN_LIMIT_S = 20.0
"""Real time that one dry run may take; nothing in it waits."""


class DryFiring(Struct, frozen=True):
    """The outcome of a dry firing.

    Attributes:
        would_run: Whether its actions would begin.
        reason: The reason, for people.
        not_run: The reason for not running.
        calls: `{"path", "service", "data"}` of each call it would make.
        skipped: `{"path", "text"}` of what it would wait for.
        steps: The steps, as in a trace.
        ended: How the run would end.
    """

    would_run: bool
    reason: str
    not_run: NotRun | None = None
    calls: tuple[dict[str, Any], ...] = ()
    skipped: tuple[dict[str, Any], ...] = ()
    steps: Mapping[str, Any] = field(default_factory=dict)
    ended: RunEnd | None = None


class Trial:
    """Tries firings of one automation, one after the other.

    Args:
        config: The automation, validated and expanded.
        parts: The dependencies; nothing of it is changed, and no model is asked when `parts.judge` is None.
        context: The authority of its templates and conditions.
    """

    def __init__(self, config: Mapping[str, Any], parts: AutomationParts, context: Context) -> None:
        self._config = config
        self._parts = parts
        self._context = context
        self._plan = RunPlan.of_automation(config["id"], config)
        self._limits = AutomationLimits(config, parts.clock, parts.spending, config["id"])

    async def fire(self, firing: Firing, *, skip_conditions: bool = False) -> DryFiring:
        """Return the result of this firing."""
        try:
            variables = self._variables(firing)
        except HubError as error:
            return DryFiring(False, error.message, NotRun.ERROR)
        if skip_conditions:
            verdict = ConditionVerdict(True, "conditions were skipped")
        else:
            asking = ConditionContext(
                self._parts, variables, self._context, self._config["id"], self._config["templates"]
            )
            try:
                verdict = await check_all_later(self._config["conditions"], asking)
            except ConditionError as error:
                return DryFiring(False, error.message, NotRun.ERROR, steps=_steps(error.children))
        if not verdict.holds:
            return DryFiring(False, verdict.reason, NotRun.CONDITIONS, steps=_steps(verdict.children))
        refusal = self._limits.refusal()
        if refusal is not None:
            return DryFiring(False, refusal.text, refusal.reason, steps=_steps(verdict.children))
        self._limits.count()
        return await self._run(firing, variables, verdict)

    async def _run(self, firing: Firing, variables: Mapping[str, Any], verdict: ConditionVerdict) -> DryFiring:
        dry = DryRun()
        run = RunState(self._plan, self._parts, self._context, variables=variables, trigger=firing.trigger, dry=dry)
        run.defined = True
        for place, child in verdict.children.items():
            run.trace.verdict(f"condition/{place}", child)
        ended: RunEnd | None = None
        try:
            async with asyncio.timeout(RUN_LIMIT_S):
                ended = await execute(run)
        except TimeoutError:
            run.trace.step("limit").error(f"it was still at work after {RUN_LIMIT_S:g} s").end()
        return DryFiring(
            True,
            verdict.reason if self._config["conditions"] else "it has no conditions",
            None,
            tuple(plain_value(dry.calls, self._plan.secrets)),
            tuple(plain_value(dry.skipped, self._plan.secrets)),
            run.trace.as_dict()["steps"],
            ended,
        )

    def _variables(self, firing: Firing) -> dict[str, Any]:
        id = self._config["id"]
        own = (state for state in self._parts.states.all("automation") if state.attributes.get("id") == id)
        return run_variables(self._config, firing, next(own, None), self._parts.templates)


def _steps(verdicts: Mapping[str, ConditionVerdict]) -> dict[str, Any]:
    return verdict_steps({f"condition/{place}": verdict for place, verdict in verdicts.items()})
