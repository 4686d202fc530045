"""One run of an automation or a script: what its branches share (`RunState`), and what a step gets (`Frame`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from hub.automation.contract import ConditionContext
from hub.automation.engine.parts import AutomationParts
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
from hub.automation.running.position import Position, TakenUp
from hub.automation.running.scope import RunScope
from hub.automation.running.signals import (
    Interrupted,
    SequenceEnded,
    Signal,
    UnknownService,
    error_text,
    is_foreseen,
)
from hub.automation.tracing.trace import StepTrace, TraceWriter, verdict_result
from hub.core.context import Context
from hub.core.ids import new_id
from hub.core.secret import SecretMask
from hub.template.native import as_bool
from hub.template.outside import noting_outside

_log = logging.getLogger(__name__)


class Keeper(Protocol):
    """Keeps runs, so that they survive a restart."""

    async def save(self, run: RunState) -> None:
        """Return once the current state of the run is on disk."""
        ...

    async def forget(self, run_id: str) -> None:
        """Forget a run that has ended."""
        ...


class RunState:
    """What all branches of one run share. `hub.automation.running.execute.execute` runs it from beginning to end.

    Args:
        plan: The plan of the run.
        parts: The hub.
        context: The cause, and its authority.
        variables: Further variables (`this`, those of the trigger); for a resumed run, all it had.
        trigger: The trigger that fired, as templates see it.
        dry: Record instead of doing.
        keeper: Keeps it over a restart; None when it need not survive.
        resumed: The state of a resumed run when the hub stopped.

    Attributes:
        context: The cause and the rights; tainted from when something from outside came in.
        frame: The run as its outermost steps see it; its scope has the variables of the whole run.
        effect: Whether something was done since the position was saved last.
    """

    __slots__ = (
        "cancelled",
        "context",
        "conversation_response",
        "defined",
        "dry",
        "effect",
        "failed_path",
        "failure",
        "frame",
        "id",
        "keeper",
        "parts",
        "plan",
        "position",
        "resumed",
        "saved",
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
        resumed: TakenUp | None = None,
    ) -> None:
        self.plan = plan
        self.parts = parts
        self.context = context
        self.dry = dry
        self.keeper = keeper
        self.resumed = self.defined = self.saved = resumed is not None
        self.effect = False
        self.failure: Exception | None = None
        self.failed_path: str | None = None
        self.cancelled: str | None = None
        self.conversation_response: str | None = None
        self.task: asyncio.Task[Any] | None = None
        local = dict(variables) if variables else {}
        if resumed is None:
            self.id = new_id()
            self.position = Position()
            self.started = parts.clock.time()
            if trigger is not None:
                local["trigger"] = trigger
            elif plan.owner_kind == "automation":  # a script has one only when its caller hands one over
                local["trigger"] = {"platform": None}
            local["context"] = {"id": context.id, "parent_id": context.parent_id}
        else:
            self.id = resumed.id
            self.position = resumed.position
            self.started = resumed.started
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
        self.frame = Frame(self, RunScope(local))

    @property
    def variables(self) -> Mapping[str, Any]:
        """The variables of the whole run."""
        return self.frame.scope.local

    def taint(self) -> None:
        """Mark the run as tainted; its authority is narrowed permanently."""
        if not self.context.authority.tainted:
            self.context = self.context.tainted()

    def cancel(self, reason: str) -> None:
        """End the run: its outcome becomes `cancelled`. Without this, cancelling its task only interrupts it."""
        self.cancelled = reason
        if self.task is not None:
            self.task.cancel()

    def begin_again(self, variables: Mapping[str, Any]) -> None:
        """Begin another attempt, with the variables that the first began with."""
        self.frame = Frame(self, RunScope(dict(variables)))

    async def save(self) -> None:
        """Return once the current state is on disk, if the run is kept."""
        self.effect = False
        if self.keeper is not None:
            await self.keeper.save(self)


class Frame:
    """A run as one branch of it sees it: the `StepRun` of its steps. Loops and parallel branches have their own.

    Args:
        run: The state shared by all branches.
        scope: The variables visible in it.
    """

    __slots__ = ("dry", "entry", "memo", "parts", "plan", "position", "run", "scope")

    def __init__(self, run: RunState, scope: RunScope) -> None:
        self.run = run
        self.scope = scope
        self.plan = run.plan
        self.parts = run.parts
        self.dry = run.dry
        self.position = run.position
        self.memo = run.plan.memo
        self.entry: StepTrace | None = None
        """Of the step that runs now."""

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.run.id

    @property
    def automation_id(self) -> str:
        """The automation of the run; `script.<key>` for a script."""
        return self.plan.trace_id

    @property
    def context(self) -> Context:
        """The cause and the authority of the run; tainted as soon as something from outside came in."""
        return self.run.context

    @property
    def templates(self) -> bool:
        """Whether texts may be templates."""
        return self.plan.templates

    @property
    def secrets(self) -> SecretMask:
        """The secrets of the definition."""
        return self.plan.secrets

    @property
    def is_kept(self) -> bool:
        """Whether it survives a restart of the hub."""
        return self.run.keeper is not None

    def taint(self) -> None:
        """Mark the run as tainted; see `RunState.taint`."""
        self.run.taint()

    def respond(self, text: str | None) -> None:
        """Set the answer to the sentence that triggered the run."""
        self.run.conversation_response = text

    def fork(self, path: str, local: dict[str, Any], *, branch: bool = False) -> Frame:
        """Return the run as seen from within a step, with further variables that are seen only there.

        Args:
            path: The path of the step that opens the scope.
            local: Its variables; a resumed run has those it had instead.
            branch: Whether it is a parallel branch.
        """
        if self.run.keeper is not None:
            local = self.position.scopes.setdefault(path, local)
        fork = Frame(self.run, RunScope(local, self.scope, branch=branch))
        fork.entry = self.entry
        return fork

    def is_static(self, value: Any) -> bool:
        """Whether a value of the configuration has no templates."""
        return self.plan.is_static(value)

    def render(self, value: Any) -> Any:
        """Return a value of the configuration with its templates rendered; words of devices in them taint the run.

        Raises:
            HubError: A template cannot be rendered.
        """
        if self.plan.is_static(value):
            return value
        with noting_outside(self.run.taint):
            return self.plan.compile_value(value, self.parts.templates).render(self.scope.view)

    async def render_later(self, value: Any, *, quote: Callable[[str], str] | None = None) -> Any:
        """Like `render`, without holding up the event loop when it takes long.

        Args:
            quote: Transforms each text that a template inserts.
        """
        if self.plan.is_static(value):
            return value
        with noting_outside(self.run.taint):
            return await self.plan.compile_value(value, self.parts.templates).render_async(self.scope.view, quote=quote)

    async def define(self, variables: Mapping[str, Any]) -> None:
        """Assign variables in their order; each may use those before it."""
        changed: dict[str, Any] = {}
        for name, value in variables.items():
            changed[name] = await self.render_later(value)
            self.scope.assign(name, changed[name])
        if self.entry is not None:
            self.entry.record_variables(changed)

    def assign(self, name: str, value: Any) -> None:
        """Assign one variable and record it in the trace."""
        self.scope.assign(name, value)
        if self.entry is not None:
            self.entry.record_variables({name: value})

    def tell(self, **result: Any) -> None:
        """Record the result of the current step in the trace."""
        if self.entry is not None:
            self.entry.result(**result)

    def record(self, path: str, **result: Any) -> None:
        """Record a result at another path of the trace."""
        self.run.trace.step(path).result(**result).end()

    def child(
        self, *, run_id: str | None = None, automation_id: str | None = None, session_key: str | None = None
    ) -> None:
        """Record in the trace what the current step started."""
        if self.entry is not None:
            self.entry.child(run_id=run_id, automation_id=automation_id, session_key=session_key)

    async def holds(self, conditions: Steps, path: str) -> bool:
        """Return whether all conditions hold, and record each verdict under `path`.

        A condition that cannot be evaluated does not hold; the trace tells why.
        """
        asking = self._asking()
        memo = self.memo
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
            self.run.trace.verdict(f"{path}/{place}", child)
        return verdict.holds

    async def holds_here(self, condition: Mapping[str, Any], path: str) -> bool:
        """Like `holds`, for a condition that is itself the step that runs now."""
        memo = self.memo
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
            self.run.trace.verdict(f"{path}/{place}", child)
        return verdict.holds

    def _asking(self) -> ConditionContext:
        plan = self.plan
        return ConditionContext(self.parts, self.scope.view, self.run.context, plan.trace_id, plan.templates)

    def _not_said(self, error: ConditionError, path: str) -> None:
        """Record why a condition cannot be evaluated."""
        for place, child in error.children.items():
            self.run.trace.verdict(f"{path}/{place}", child)
        entry = self.entry if error.path == path and self.entry is not None else self.run.trace.step(error.path)
        entry.result(holds=False).error(error.plain).end()
        _log.warning("%s: %s", self.plan.trace_id, error.message)

    # --- steps ---

    async def sequence(self, steps: Steps, path: str) -> bool:
        """Run steps in order; return False when a condition among them ended the sequence.

        Args:
            path: The prefix of each index: `action`, `action/0/then`.
        """
        if self.run.keeper is not None:
            return await self._kept_sequence(steps, path)
        try:
            for index, step in enumerate(steps):
                await self.step(step, f"{path}/{index}")
        except SequenceEnded:
            return False
        return True

    async def step(self, config: Mapping[str, Any], path: str) -> None:
        """Run one step, if it is enabled, handle its errors, and record it in the trace."""
        run = self.run
        if run.cancelled is not None:
            await asyncio.sleep(0)  # it was cancelled by what it did itself, without anything that waits
        step = self.plan.step(config, self.parts.kinds)
        outer = self.entry
        self.entry = entry = run.trace.step(path)
        try:
            if step.enabled is not True and not as_bool(self.render(step.enabled)):
                entry.result(enabled=False)
                return
            try:
                await step.run(config, self, path)
            finally:
                run.effect |= step.effect
        except Signal:
            raise
        except Exception as error:  # whatever a service does wrong ends this run (or not) and never the engine
            self._failed(error, step, path)
        finally:
            entry.end()
            self.entry = outer

    def _failed(self, error: Exception, step: Step, path: str) -> None:
        """Record a step's error where it first happened, and raise it unless the run continues."""
        run = self.run
        if run.failure is not error or not (run.failed_path or "").startswith(f"{path}/"):
            run.failure = error
            run.failed_path = path
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
                if self.run.effect:
                    await self.run.save()
        except SequenceEnded:
            position.states[path] = len(steps)
            return False
        return True

    # --- position ---

    def resume(self, path: str) -> Any:
        """Return the state in which a step was when the hub stopped; None when it begins now."""
        state = self.position.states.get(path) if self.run.keeper is not None else None
        if state is not None and self.run.resumed:
            self.tell(resumed=True)
        return state

    def note(self, path: str, state: Any) -> None:
        """Remember the state of a step; it is on disk with the next save."""
        if self.run.keeper is not None:
            self.position.states[path] = state

    def leave(self, path: str) -> None:
        """Drop the states below a path, which starts over."""
        if self.run.keeper is not None:
            self.position.leave(path)

    async def save(self, path: str, state: Any) -> None:
        """Remember the state of a step and return once it is on disk."""
        self.note(path, state)
        await self.run.save()
