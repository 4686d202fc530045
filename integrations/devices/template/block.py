"""A block of `template:` with triggers: one fires, its conditions hold, its actions are done, its entities follow."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from hub.automation.contract import ConditionContext, Firing, RunOutcome
from hub.automation.engine.saved_states import SavedStates
from hub.automation.engine.trigger_host import ArmedTriggerHost, Schedules
from hub.automation.running.evaluate import check_all, check_all_later, is_sync
from hub.automation.running.execute import execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.automation.running.signals import error_text
from hub.automation.triggers.provenance import is_somebody_elses
from hub.config.paths import KeyPath
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.schema import SchemaError
from hub.template.native import as_bool
from hub.template.outside import noting_outside
from integrations.devices.template.entity import TemplateEntity
from integrations.devices.template.home import TemplateHome

_log = logging.getLogger(__name__)

RUNS_LIMIT = 10
"""How often its actions may run at the same time."""


class TriggeredBlock:
    """A block with triggers.

    Args:
        home: What all share.
        config: The block, validated.
        keys: Where it is in the configuration.
        entities: Its entities.
    """

    def __init__(
        self, home: TemplateHome, config: Mapping[str, Any], keys: KeyPath, entities: Sequence[TemplateEntity]
    ) -> None:
        self._home, self._parts, self._config, self._keys, self._entities = home, home.parts, config, keys, entities
        self._place = home.place(keys)
        self._plan = RunPlan("template", self._place, self._place, config.get("actions", ()), config=config)
        self._conditions = config.get("conditions", ())
        self._waits = bool(self._plan.actions) or not is_sync(self._conditions, self._parts.kinds)
        self._running = 0

    def arm(self) -> None:
        """Arm the triggers; one that cannot watch opens a repair, and the others continue."""
        automation = {"id": self._place, "templates": True}
        for trigger in self._config["triggers"]:
            host = ArmedTriggerHost(
                self._parts,
                automation,
                trigger,
                {},
                Schedules(SavedStates()),
                on_firing=lambda firing: self._parts.firings.add(self._fired, firing),
                on_problem=self._fail,
            )
            enabled = trigger.get("enabled", True)
            try:
                if enabled is True or as_bool(self._parts.templates.render_value(enabled, {})):
                    self._home.host.on_unload(self._parts.kinds.trigger(trigger["trigger"]).arm(trigger, host))
            except (HubError, SchemaError) as error:
                host.fail(error_text(error))

    def _fail(self, index: str, message: str) -> None:
        title = phrase("A trigger of template entities does not work")
        place = self._home.place((*self._keys, "triggers", int(index.partition("/")[0])))
        text = phrase("{place}: {text}", place=place, text=message)
        self._home.host.repairs.raise_("template", f"{self._place}:{index}", title, text, severity=Severity.WARNING)
        _log.warning("%s", text)

    def _fired(self, firing: Firing) -> None:
        if firing.skipped:
            return
        if not self._waits:
            try:
                self._at_once(firing)
            except HubError as error:
                _log.warning("template %s: %s", self._place, error.message)
            return
        if self._running >= RUNS_LIMIT:
            _log.warning("template %s: it was set off again while it ran %s times", self._place, self._running)
            return
        self._running += 1
        self._home.host.spawn(self._in_time(firing), name=f"template {self._place}")

    def _at_once(self, firing: Firing) -> None:
        run = self._run(firing)
        if self._conditions and not check_all(self._conditions, self._asking(run)).holds:
            return
        self._update(run, firing)

    async def _in_time(self, firing: Firing) -> None:
        try:
            run = self._run(firing)
            if self._conditions and not (await check_all_later(self._conditions, self._asking(run))).holds:
                return
            if self._plan.actions:
                ended = await execute(run)
                if ended.outcome not in (RunOutcome.FINISHED, RunOutcome.STOPPED):
                    return
            self._update(run, firing)
        except HubError as error:
            _log.warning("template %s: %s", self._place, error.message)
        finally:
            self._running -= 1

    def _run(self, firing: Firing) -> RunState:
        """Return a run with its variables: the trigger's, and those of the block, each with those before it.

        Raises:
            HubError: One cannot be rendered.
        """
        cause = firing.context
        tainted = firing.tainted or is_somebody_elses(cause)
        authority = self._home.authority(self._place).narrow(tainted=tainted)
        context = cause.child(authority) if cause is not None else Context(authority)
        run = RunState(self._plan, self._parts, context, trigger=firing.trigger)
        run.defined = True
        for variables in (firing.variables, self._config.get("variables") or {}):
            for name, value in variables.items():
                with noting_outside(run.taint):
                    found = self._parts.templates.render_value(value, run.variables, f"{self._place} variables.{name}")
                run.frame.scope.assign(name, found)
        return run

    def _asking(self, run: RunState) -> ConditionContext:
        return ConditionContext(self._parts, run.variables, run.context, self._place)

    def _update(self, run: RunState, firing: Firing) -> None:
        for entity in self._entities:
            entity.update(run.variables, firing.context, tainted=run.context.authority.tainted)
