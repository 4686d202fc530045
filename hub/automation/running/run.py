"""One run of an automation or a script: its variables, its authority, its position, and what a step may ask of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import Asking, AutomationParts
from hub.automation.definition.values import resolve_duration
from hub.automation.running.dry_run import DryRun
from hub.automation.running.evaluate import (
    ConditionError,
    check_all,
    check_all_later,
    evaluate,
    evaluate_later,
    is_sync,
)
from hub.automation.running.plan import RunPlan, Step, Steps
from hub.automation.running.position import Keeper, Position, TakenUp
from hub.automation.running.rendering import truth
from hub.automation.running.scope import RunScope
from hub.automation.running.signals import (
    Interrupted,
    SequenceEnded,
    Signal,
    StopRun,
    UnknownService,
    error_text,
    is_foreseen,
)
from hub.automation.tracing.trace import StepTrace, TraceWriter, verdict_result
from hub.core.clock import RECHECK_S
from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.core.ids import new_id
from hub.core.schema import SchemaError, describe_error
from hub.template.outside import noting_outside

__all__ = ["DryRun", "Keeper", "Position", "Run", "RunPlan", "SequenceEnded", "Signal", "StopRun", "TakenUp"]

_log = logging.getLogger(__name__)


class Run:
    """One run. `hub.automation.running.execute.execute` runs it from its beginning to its end.

    A loop or a parallel branch works on a `fork` with variables of its own; all forks are one run.

    Args:
        plan: What runs.
        parts: The hub.
        context: Why it runs, and its authority.
        variables: Further variables (`this`, those of the trigger); all it had, for a run that is taken up again.
        trigger: What fired, as templates see it.
        dry: Record instead of doing.
        keeper: Keeps it over a restart; None when it need not survive.
        taken_up: What a run was when the hub stopped.
    """

    __slots__ = (
        "_context",
        "_effect",
        "cancelled",
        "conversation_response",
        "defined",
        "dry",
        "entry",
        "failed_path",
        "failure",
        "id",
        "keeper",
        "parts",
        "plan",
        "position",
        "resumed",
        "root",
        "saved",
        "scope",
        "started",
        "task",
        "trace",
    )

    def __init__(
        self,
        plan: RunPlan,
        parts: AutomationParts,
        context: Context,
        *,
        variables: Mapping[str, Any] | None = None,
        trigger: Mapping[str, Any] | None = None,
        dry: DryRun | None = None,
        keeper: Keeper | None = None,
        taken_up: TakenUp | None = None,
    ) -> None:
        self.plan = plan
        self.parts = parts
        self.dry = dry
        self.keeper = keeper
        self.resumed = self.defined = self.saved = taken_up is not None
        self.root = self
        self.entry: StepTrace | None = None
        self._effect = False
        self.failure: Exception | None = None
        self.failed_path: str | None = None
        self.cancelled: str | None = None
        self.conversation_response: Any = None
        self.task: asyncio.Task[Any] | None = None
        self._context = context
        local = dict(variables) if variables else {}
        if taken_up is None:
            self.id = new_id()
            self.position = Position()
            self.started = parts.clock.time()
            if trigger is not None:
                local["trigger"] = trigger
            elif plan.owner_kind == "automation":  # a script has one only when its caller hands one over
                local["trigger"] = {"platform": None}
            local["context"] = {"id": context.id, "parent_id": context.parent_id}
        else:
            self.id = taken_up.id
            self.position = taken_up.position
            self.started = taken_up.started
        self.scope = RunScope(local)
        self.trace = TraceWriter(
            self.id,
            plan.trace_id,
            plan.alias,
            local.get("trigger") or {},
            context,
            clock=parts.clock,
            zone=parts.zone(),
            config=plan.secrets,
        )

    @property
    def context(self) -> Context:
        """Why it runs, and what it may do; tainted from when something from outside came in."""
        return self.root._context

    @property
    def effect(self) -> bool:
        """Whether something was done since the position was saved last."""
        return self.root._effect

    @effect.setter
    def effect(self, effect: bool) -> None:
        self.root._effect = effect

    def taint(self) -> None:
        """Something from outside came in: narrow what the run may do, for good."""
        root = self.root
        if not root._context.authority.tainted:
            root._context = root._context.tainted()

    def cancel(self, reason: str) -> None:
        """End the run: its outcome becomes `cancelled`. Without this, cancelling its task only interrupts it."""
        self.cancelled = reason
        if self.task is not None:
            self.task.cancel()

    def fork(self, path: str, local: dict[str, Any], *, branch: bool = False) -> Run:
        """Return the same run with further variables that are seen only there.

        Args:
            path: Of the step that opens the scope.
            local: Its variables; a run that is taken up again has those it had instead.
            branch: Whether it is a parallel branch.
        """
        fork: Run = object.__new__(Run)
        for name in Run.__slots__:
            setattr(fork, name, getattr(self, name))
        if self.keeper is not None:
            local = self.position.scopes.setdefault(path, local)
        fork.scope = RunScope(local, self.scope, branch=branch)
        return fork

    def render(self, value: Any) -> Any:
        """Return a value of the configuration with its templates rendered; words of devices in them taint the run.

        Raises:
            HubError: A template cannot be rendered.
        """
        if self.plan.is_static(value):
            return value
        with noting_outside(self.taint):
            return self.plan.compiled(value, self.parts.templates).render(self.scope.view)

    async def render_later(self, value: Any, *, quote: Callable[[str], str] | None = None) -> Any:
        """Like `render`, without holding up the event loop when it takes long.

        Args:
            quote: What becomes of each text that a template puts in.
        """
        if self.plan.is_static(value):
            return value
        with noting_outside(self.taint):
            return await self.plan.compiled(value, self.parts.templates).render_async(self.scope.view, quote=quote)

    async def define(self, variables: Mapping[str, Any]) -> None:
        """Assign variables in their order; each may use those before it."""
        changed: dict[str, Any] = {}
        for name, value in variables.items():
            changed[name] = await self.render_later(value)
            self.scope.assign(name, changed[name])
        if self.entry is not None:
            self.entry.changed(changed)

    def assign(self, name: str, value: Any) -> None:
        """Assign one variable and tell it in the trace."""
        self.scope.assign(name, value)
        if self.entry is not None:
            self.entry.changed({name: value})

    def tell(self, **result: Any) -> None:
        """Record the result of the current step in the trace."""
        if self.entry is not None:
            self.entry.result(**result)

    async def holds(self, conditions: Steps, path: str) -> bool:
        """Return whether all conditions hold, and record each verdict under `path`.

        A condition that cannot be evaluated does not hold; the trace tells why.
        """
        asking = self._asking()
        memo = self.plan.memo
        known = memo.get(id(conditions))
        if known is None:
            known = memo[id(conditions)] = (conditions, is_sync(conditions, self.parts.kinds))
        try:
            if known[1]:
                verdict = check_all(conditions, asking, path)
            else:
                verdict = await check_all_later(conditions, asking, path)
        except ConditionError as error:
            self._not_said(error, path)
            return False
        for place, child in verdict.children.items():
            self.trace.verdict(f"{path}/{place}", child)
        return verdict.holds

    async def holds_here(self, condition: Mapping[str, Any], path: str) -> bool:
        """Like `holds`, for a condition that is itself the step that runs now."""
        memo = self.plan.memo
        known = memo.get(id(condition))
        if known is None:
            known = memo[id(condition)] = (condition, is_sync([condition], self.parts.kinds))
        asking = self._asking()
        try:
            verdict = evaluate(condition, asking, path) if known[1] else await evaluate_later(condition, asking, path)
        except ConditionError as error:
            self._not_said(error, path)
            return False
        self.tell(**verdict_result(verdict))
        for place, child in verdict.children.items():
            self.trace.verdict(f"{path}/{place}", child)
        return verdict.holds

    def _asking(self) -> Asking:
        return Asking(self.parts, self.scope.view, self.context, self.plan.trace_id, self.plan.templates)

    def _not_said(self, error: ConditionError, path: str) -> None:
        """Record why a condition cannot be evaluated."""
        for place, child in error.children.items():
            self.trace.verdict(f"{path}/{place}", child)
        entry = self.entry if error.path == path and self.entry is not None else self.trace.step(error.path)
        entry.result(holds=False).error(error.plain).end()
        _log.warning("%s: %s", self.plan.trace_id, error.message)

    # --- steps ---

    async def sequence(self, steps: Steps, path: str) -> bool:
        """Run steps in order; return False when a condition among them ended the sequence.

        Args:
            path: What stands before the index of each: `action`, `action/0/then`.
        """
        if self.keeper is not None:
            return await self._kept_sequence(steps, path)
        try:
            for index, step in enumerate(steps):
                await self.step(step, f"{path}/{index}")
        except SequenceEnded:
            return False
        return True

    async def step(self, config: Mapping[str, Any], path: str) -> None:
        """Run one step, if it is enabled, handle its errors, and record it in the trace."""
        if self.root.cancelled is not None:
            await asyncio.sleep(0)  # it was cancelled by what it did itself, without anything that waits
        step = self.plan.step(config, self.parts.kinds)
        outer = self.entry
        self.entry = entry = self.trace.step(path)
        try:
            if step.enabled is not True and not truth(self.render(step.enabled)):
                entry.result(enabled=False)
                return
            try:
                await step.run(config, self, path)
            finally:
                self.effect |= step.effect
        except Signal:
            raise
        except Exception as error:  # whatever a service does wrong ends this run (or not) and never the engine
            self._failed(error, step, path)
        finally:
            entry.end()
            self.entry = outer

    def _failed(self, error: Exception, step: Step, path: str) -> None:
        """Record a step's error where it first happened, and raise it unless the run continues."""
        root = self.root
        if root.failure is not error or not (root.failed_path or "").startswith(f"{path}/"):
            root.failure = error
            root.failed_path = path
            if self.entry is not None:
                self.entry.error(error_text(error))
        covered = step.continue_on_error and not isinstance(error, UnknownService)
        goes_on = covered or (self.plan.on_error == "continue" and not isinstance(error, Interrupted))
        if not goes_on:
            raise error
        if not is_foreseen(error):  # logged nowhere else
            _log.warning("%s: %s failed, and the run goes on", self.plan.trace_id, path, exc_info=error)
        self.tell(continued=True)

    async def _kept_sequence(self, steps: Steps, path: str) -> bool:
        position = self.position
        index = position.states.get(path, 0)
        try:
            while index < len(steps):
                position.states[path] = index
                await self.step(steps[index], f"{path}/{index}")
                position.leave(f"{path}/{index}")
                index += 1
                position.states[path] = index
                await self.checkpoint()
        except SequenceEnded:
            position.states[path] = len(steps)
            return False
        return True

    # --- position ---

    def resume(self, path: str) -> Any:
        """Return the state in which a step was when the hub stopped; None when it begins now."""
        state = self.position.states.get(path) if self.keeper is not None else None
        if state is not None and self.resumed:
            self.tell(resumed=True)
        return state

    def note(self, path: str, state: Any) -> None:
        """Remember the state of a step; it is on disk with the next save."""
        if self.keeper is not None:
            self.position.states[path] = state

    def leave(self, path: str) -> None:
        """Drop the states below a path, which starts over."""
        if self.keeper is not None:
            self.position.leave(path)

    async def save(self, path: str, state: Any) -> None:
        """Remember the state of a step and return once it is on disk."""
        self.note(path, state)
        await self._save()

    async def checkpoint(self) -> None:
        """Save the position when something was done since it was saved last."""
        if self.effect and self.keeper is not None:
            await self._save()

    async def _save(self) -> None:
        self.effect = False
        if self.keeper is not None:
            await self.keeper.save(self.root)

    async def seconds(self, value: Any, key: str) -> float:
        """Return the seconds of a `dynamic_duration`.

        Raises:
            InvalidRequest: What its template gave is not a duration.
        """
        if isinstance(value, float):
            return value
        rendered = await self.render_later(value)
        try:
            return resolve_duration(rendered, lambda value: value)
        except SchemaError as error:
            raise InvalidRequest(f"{key}: {describe_error(error)}") from error

    async def deadline(self, seconds: float, path: str) -> float:
        """Return when a wait that begins now, or began before the hub stopped, ends: seconds since the epoch."""
        state = self.resume(path)
        if isinstance(state, dict) and "deadline" in state:
            return float(state["deadline"])
        when = self.parts.clock.time() + seconds
        await self.save(path, {"deadline": when})
        return when

    async def sleep_until(self, when: float) -> None:
        """Wait until the wall clock shows `when`, and not longer than that is from now, however the clock jumps."""
        clock = self.parts.clock
        left = when - clock.time()
        end = clock.monotonic() + left
        while left > 0:
            await clock.sleep(min(left, RECHECK_S))
            left = min(when - clock.time(), end - clock.monotonic())
