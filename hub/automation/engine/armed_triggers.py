"""The triggers of one automation while it is on: those that watch, those that cannot, and the handled occurrences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import Firing
from hub.automation.definition.phrases import problem_texts
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import KeptStates
from hub.automation.engine.trigger_host import ArmedTriggerHost, Schedules, trigger_key
from hub.automation.running.signals import error_text
from hub.automation.running.start_variables import trigger_variables
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.core.schema import SchemaError

REPAIRS = "automation"


class ArmedTriggers:
    """Arms the triggers of one automation.

    Args:
        config: The automation, validated.
        on_firing: Called with each firing.
    """

    __slots__ = ("_alias", "_config", "_hosts", "_id", "_kept", "_on_firing", "_parts", "_states", "_unarm", "problems")

    def __init__(
        self, config: Mapping[str, Any], parts: AutomationParts, states: KeptStates, on_firing: Callable[[Firing], Any]
    ) -> None:
        self._config = config
        self._id: str = config["id"]
        self._alias: str = config.get("alias") or self._id
        self._parts = parts
        self._states = states
        self._kept = states.of(self._id)
        self._on_firing = on_firing
        self._unarm: list[Callable[[], None]] = []
        self._hosts: list[tuple[Mapping[str, Any], ArmedTriggerHost]] = []
        self.problems: dict[str, str] = {}
        """Why a trigger cannot watch, by its index."""

    @property
    def is_over(self) -> bool:
        """Whether all its triggers are schedules whose last occurrence was handled."""
        triggers = self._config["triggers"]
        handled = all(self._is_schedule(each) and trigger_key(each) in self._kept.handled for each in triggers)
        return bool(triggers) and handled and self.next_due() is None

    def next_due(self) -> float | None:
        """Return when one of its schedules fires next, seconds since the epoch."""
        found: list[float] = []
        for config, host in self._hosts:
            kind = self._parts.kinds.trigger(config["trigger"])
            if kind.next_due is not None and (due := kind.next_due(config, host)) is not None:
                found.append(due)
        return min(found, default=None)

    def arm(self) -> None:
        """Arm all triggers; one that fails opens a repair, and the others continue."""
        if self._hosts:
            return
        variables: Mapping[str, Any] = {}
        try:
            variables = trigger_variables(self._config, self._parts.templates)
        except HubError as error:
            self._fail("", error.message)
        triggers = self._config["triggers"]
        keys = {config["index"]: trigger_key(config) for config in triggers if self._is_schedule(config)}
        self._count_from_now({keys[each["index"]]: each["trigger"] for each in triggers if each["index"] in keys})
        for config in triggers:
            self._arm(config, variables, keys.get(config["index"], ""))

    def disarm(self) -> None:
        """Disarm all triggers."""
        for unarm in self._unarm:
            unarm()
        self._unarm.clear()
        self._hosts.clear()
        if self.problems:
            self.problems.clear()
            self._parts.repairs.clear(REPAIRS, f"{self._id}:trigger")

    def _count_from_now(self, keys: Mapping[str, str]) -> None:
        """Remember the start time of each schedule; those no longer in the file are forgotten.

        A requested instant counts from when it was requested: it may be over when it is armed, because
        the files took their time or the hub ended in between.

        Args:
            keys: The key of each, and its kind.
        """
        kept, now = self._kept, self._parts.clock.time()
        if keys.keys() == kept.armed.keys():
            return
        asked = self._states.asked.get(self._id, now)
        kept.armed = {key: kept.armed.get(key, asked if kind == "at" else now) for key, kind in keys.items()}
        kept.handled = {key: planned for key, planned in kept.handled.items() if key in kept.armed}
        self._states.mark_changed(self._id)

    def _arm(self, config: Mapping[str, Any], variables: Mapping[str, Any], key: str) -> None:
        kind = self._parts.kinds.trigger(config["trigger"])
        host = ArmedTriggerHost(
            self._parts,
            self._config,
            config,
            variables,
            Schedules(self._kept, key, self._catch_up(config), self._states.stopped),
            on_firing=self._on_firing,
            on_problem=self._fail,
        )
        try:
            if not self._is_enabled(config, variables):
                return
            self._unarm.append(kind.arm(config, host))
        except (HubError, SchemaError) as error:
            self._fail(host.index, error_text(error))
        else:
            self._hosts.append((config, host))

    def _is_enabled(self, config: Mapping[str, Any], variables: Mapping[str, Any]) -> bool:
        enabled = config.get("enabled", True)
        if isinstance(enabled, bool):
            return enabled
        templates = self._parts.templates
        return bool(templates.as_bool(templates.compile(enabled, f"{self._id}: enabled").render(variables)))

    def _catch_up(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        stated: Mapping[str, Any] | None = self._config.get("catch_up")
        if stated is not None:
            return stated
        return {"mode": "last" if config["trigger"] == "at" else "none", "within": None}

    def _fail(self, index: str, message: str) -> None:
        self.problems[index] = message
        self._parts.repairs.raise_(
            REPAIRS,
            f"{self._id}:trigger",
            phrase("A trigger of the automation {automation} does not work", automation=self._alias),
            problem_texts(self.problems),
            severity=Severity.WARNING,
        )

    def _is_schedule(self, config: Mapping[str, Any]) -> bool:
        return self._parts.kinds.trigger(config["trigger"]).next_due is not None
