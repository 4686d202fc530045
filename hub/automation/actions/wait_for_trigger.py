"""`wait_for_trigger`: wait for any of several triggers; one that was due while the hub was down counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import triggers
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import any_of
from hub.automation.running.signals import error_text
from hub.automation.running.waits import TIMEOUT_FIELDS, Wait, begin, end, skip, until
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.context import Context
from hub.core.errors import HubError, Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Required, SchemaError
from hub.template.native import as_bool

_CATCH_UP: Mapping[str, Any] = {"mode": "last", "within": None}


class _Site:
    """The host of a trigger in a wait: its firing ends the wait."""

    catch_up = _CATCH_UP

    def __init__(self, run: StepRun, config: Mapping[str, Any], wait: Wait, waiting: _Waiting) -> None:
        self.parts = run.parts
        self.automation_id: str = run.automation_id
        self.templates: bool = run.templates
        self.variables: Mapping[str, Any] = run.scope.view
        self.index: str = config["index"]
        self._wait = wait
        self._waiting = waiting
        self._told = {
            "platform": config["trigger"],
            "id": config.get("id", self.index),
            "idx": self.index,
            "alias": config.get("alias"),
        }

    def armed(self) -> float | None:
        """Return the time since when it waits."""
        return self._wait.begun

    def handled(self) -> float | None:
        """Return the time since when it waits; earlier occurrences do not count."""
        return self._wait.begun

    def fire(
        self,
        trigger: Mapping[str, Any],
        context: Context | None = None,
        *,
        tainted: bool = False,
        planned: float | None = None,
        missed: int = 0,
        skipped: bool = False,
    ) -> None:
        """End the wait."""
        if not skipped:
            self._waiting.fired({**self._told, **trigger}, tainted=tainted or is_somebody_elses(context))

    def fail(self, message: str) -> None:
        """Report that this trigger cannot fire; the wait fails when none of them can."""
        self._waiting.failed(self.index, message)


class _Waiting:
    """The triggers of one wait, armed together."""

    def __init__(self, run: StepRun) -> None:
        self.arrived: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._run = run
        self._armed: list[Unsubscribe] = []
        self._count = 0
        self._problems: dict[str, str] = {}

    def arm(self, configs: list[Mapping[str, Any]], site_of: Callable[[Mapping[str, Any]], _Site]) -> None:
        """Start watching."""
        enabled = [config for config in configs if self._is_enabled(config)]
        self._count = len(enabled)
        if not enabled:
            self.arrived.set_exception(Unavailable("wait_for_trigger: none of its triggers is enabled"))
        for config in enabled:
            host = site_of(config)
            try:
                self._armed.append(self._run.parts.kinds.trigger(config["trigger"]).arm(config, host))
            except (HubError, SchemaError) as error:
                host.fail(error_text(error))

    def fired(self, trigger: Mapping[str, Any], *, tainted: bool) -> None:
        """Handle a firing; only the first counts."""
        if self.arrived.done():
            return
        if tainted:
            self._run.taint()
        self.arrived.set_result(trigger)

    def failed(self, index: str, message: str) -> None:
        """Handle a trigger that cannot watch."""
        self._problems[index] = message
        self._run.tell(problems=dict(self._problems))
        if len(self._problems) >= self._count and not self.arrived.done():
            told = "; ".join(f"wait_for_trigger[{place}]: {text}" for place, text in self._problems.items())
            self.arrived.set_exception(Unavailable(told))

    def disarm(self) -> None:
        """Stop watching."""
        for unarm in self._armed:
            unarm()
        if self.arrived.done() and not self.arrived.cancelled():
            self.arrived.exception()

    def _is_enabled(self, config: Mapping[str, Any]) -> bool:
        enabled = config.get("enabled", True)
        return enabled is True or as_bool(self._run.render(enabled))


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    configs = step["wait_for_trigger"]
    if run.dry is not None:
        with run.parts.kinds.in_use():
            skip(run, path, _explain(step), trigger=None)
        return
    wait = await begin(step, run, path)
    waiting = _Waiting(run)
    try:
        waiting.arm(configs, lambda config: _Site(run, config, wait, waiting))
        completed = await until(run, waiting.arrived, wait)
    finally:
        waiting.disarm()
    end(step, run, wait, completed, trigger=waiting.arrived.result() if completed else None)


def _explain(step: Mapping[str, Any]) -> str:
    triggers = any_of(kinds_in_use().trigger(each["trigger"]).explain(each) for each in step["wait_for_trigger"])
    return phrase("wait for this: {trigger}", trigger=triggers)


KIND = ActionKind(
    name="wait_for_trigger",
    fields={Required("wait_for_trigger", description="Any of these."): triggers, **TIMEOUT_FIELDS},
    run=_run,
    explain=_explain,
    description="Wait for a trigger.",
)
