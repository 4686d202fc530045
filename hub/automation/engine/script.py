"""One script: a sequence of actions that is a service, with its fields, its mode and its response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.contract import Mode, NotRun, RunOutcome
from hub.automation.engine.environment import ActiveRun
from hub.automation.engine.modes import ModeDecision, decide, refusal
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import as_moment
from hub.automation.running.execute import RunEnd, execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.automation.running.waiting import Waiting, WaitingRuns
from hub.automation.tracing.trace_store import TraceStore
from hub.core.context import Context
from hub.core.errors import Conflict, LimitExceeded
from hub.core.phrases import phrase
from hub.core.schema import ALLOW_EXTRA, Optional, Required, Schema
from hub.template.contract import HUB_FUNCTIONS

_log = logging.getLogger(__name__)

DEPTH_LIMIT = 10
"""How many scripts may be in the chain of causes of a script, all of them running."""
EVENT_STARTED = "script_started"


class ScriptEnvironment(Struct, frozen=True):
    """The dependencies of all scripts.

    Attributes:
        active: Contexts of active runs → keys of their scripts; it reveals a script that calls itself.
        traces: Stores traces; None in a simulation.
        waiting: Stores runs that survive a restart.
    """

    parts: AutomationParts
    active: dict[str, str]
    traces: TraceStore | None = None
    waiting: WaitingRuns | None = None


class Script:
    """One script.

    Args:
        key: Its name; the service is `script.<key>`.
        config: Validated and, when made from a blueprint, expanded.
        environment: The shared dependencies of scripts.
    """

    def __init__(self, key: str, config: Mapping[str, Any], environment: ScriptEnvironment) -> None:
        self.key = key
        self.entity_id = f"script.{key}"
        self.config = config
        self.plan = RunPlan.of_script(key, config)
        self.last_triggered: float | None = None
        self._environment = environment
        self._parts = environment.parts
        self._active: list[ActiveRun] = []
        self._turn = asyncio.Lock()

    @property
    def current(self) -> int:
        """The number of active and queued runs."""
        return len(self._active)

    @property
    def schema(self) -> Schema:
        """The schema of its service; other keys become variables. A `default` is for forms alone."""
        fields: dict[Any, Any] = {}
        for name, given in self.config["fields"].items():
            field = given or {}
            description = field.get("description") or field.get("name")
            if field.get("required") and "default" not in field:
                fields[Required(name, description=description)] = object
            else:
                fields[Optional(name, description=description)] = object
        return Schema(fields, extra=ALLOW_EXTRA)

    def begin(self, variables: Mapping[str, Any], context: Context) -> ActiveRun | None:
        """Start a run as the mode allows; return None when it does not.

        Raises:
            LimitExceeded: Scripts call each other too deeply.
            Conflict: It calls itself, and its mode would have it wait for itself or end itself.
        """
        self._refuse_recursion(context)
        match decide(self.plan.mode, self.plan.maximum, len(self._active)):
            case ModeDecision.REFUSE:
                self._refused(variables)
                return None
            case ModeDecision.RESTART:
                before = self.cancel(phrase("it was called again"))
            case _:
                before = []
        # An exposed script may be called for anyone: its templates see conversations and memory only for the owner.
        hidden = {} if context.authority.owner else dict.fromkeys(HUB_FUNCTIONS)
        run = RunState(
            self.plan,
            self._parts,
            context.child(),
            variables={**hidden, "this": self._parts.states.get(self.entity_id), **variables},
            keeper=self._environment.waiting if self.plan.persist else None,
        )
        return self._go(run, before)

    def take_up(self, waiting: Waiting) -> None:
        """Go on with a run that a stop or a crash cut off."""
        self._go(waiting.restore(self.plan, self._parts), [])

    def cancel(self, reason: str) -> list[asyncio.Task[RunEnd]]:
        """End all runs; return their tasks, which have still to be waited for."""
        tasks = []
        for active in self._active:
            active.run.cancel(reason)
            tasks.append(active.task)
        return tasks

    async def stop(self, reason: str) -> None:
        """Stop all runs and wait for them; a run that stops its own script does not wait for itself."""
        mine = asyncio.current_task()
        tasks = [task for task in self.cancel(reason) if task is not mine]
        if tasks:
            await asyncio.wait(tasks)

    def show(self, cause: Context | None = None) -> None:
        """Set its entity's state; `cause` is the run that changed it."""
        self._parts.states.set(
            self.entity_id,
            "on" if self._active else "off",
            {
                "friendly_name": self.plan.alias,
                "mode": self.plan.mode.value,
                "current": len(self._active),
                "last_triggered": as_moment(self.last_triggered),
                **({"max": self.plan.maximum} if self.plan.mode in (Mode.QUEUED, Mode.PARALLEL) else {}),
                **({"icon": self.config["icon"]} if self.config.get("icon") else {}),
            },
            cause,
        )

    # --- inside ---

    def _refuse_recursion(self, context: Context) -> None:
        callers = [
            self._environment.active[id] for id in (*context.chain, context.id) if id in self._environment.active
        ]
        if len(callers) >= DEPTH_LIMIT:
            shown = " → ".join((*callers, self.key))
            raise LimitExceeded(f"scripts call each other more than {DEPTH_LIMIT} deep: {shown}")
        if self.key in callers and self.plan.mode in (Mode.QUEUED, Mode.RESTART):
            raise Conflict(
                f"script.{self.key} calls itself, which the mode {self.plan.mode.value} does not allow: it would "
                f"{'wait for' if self.plan.mode is Mode.QUEUED else 'end'} itself. Use the mode parallel."
            )

    def _refused(self, variables: Mapping[str, Any]) -> None:
        text = refusal(self.plan.mode, self.plan.maximum)
        level = self.config["max_exceeded"]
        if level != "silent":
            _log.log(logging.getLevelName(level.upper()), "script %s was called and did not run: %s", self.key, text)
        if self._environment.traces is not None:
            trigger = {"platform": None, "description": "called"}
            self._environment.traces.add_not_run(self.plan.trace_id, self.plan.alias, trigger, NotRun.MODE, text, {})

    def _go(self, run: RunState, before: list[asyncio.Task[RunEnd]]) -> ActiveRun:
        task = self._parts.tasks.spawn(self._perform(run, before), name=f"run of {self.entity_id}")
        active = ActiveRun(run, task)
        self._active.append(active)
        self._environment.active[run.context.id] = self.key
        self.last_triggered = self._parts.clock.time()
        if self._environment.traces is not None:
            self._environment.traces.begin(run.trace)
        task.add_done_callback(lambda _: self._over(active))
        self._parts.bus.fire(
            EVENT_STARTED, {"name": self.plan.alias, "entity_id": self.entity_id, "run_id": run.id}, run.context
        )
        self.show(run.context)
        return active

    async def _perform(self, run: RunState, before: list[asyncio.Task[RunEnd]]) -> RunEnd:
        if before:
            await asyncio.wait(before)
        if self.plan.mode is not Mode.QUEUED:
            return await execute(run)
        async with self._turn:
            return await execute(run)

    def _over(self, active: ActiveRun) -> None:
        """Handle the end of a run, however it ended."""
        run = active.run
        self._active.remove(active)
        self._environment.active.pop(run.context.id, None)
        cut_off = active.task.cancelled() and run.cancelled is None
        if active.task.cancelled() and not run.trace.finished:
            run.trace.end(RunOutcome.INTERRUPTED, "the hub stopped")
        if self._environment.traces is not None:
            if cut_off and run.keeper is not None:
                self._environment.traces.forget(run.id)
            else:
                self._environment.traces.add(run.trace, self.config["trace"].get("stored_traces", 5))
        if not self._parts.tasks.closed:
            self.show(run.context)
