"""The host of an armed trigger: identifies it and forwards its firings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson
from msgspec import Struct, field

from hub.automation.contract import Firing
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import SavedStates
from hub.core.context import Context

_log = logging.getLogger(__name__)


def trigger_key(config: Mapping[str, Any]) -> str:
    """Return the key of a trigger's handled times: it changes only with the trigger's definition."""
    said = {key: value for key, value in config.items() if key not in {"index", "alias", "id", "enabled", "variables"}}
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()[:16]


class Schedules(Struct, frozen=True):
    """The past of a schedule trigger.

    Attributes:
        kept: The saved state of the automation.
        key: The storage key of this trigger's times; empty for triggers other than schedules.
        catch_up: How missed occurrences are handled: mode and within.
        stopped: When the hub was stopped in good order, while it starts.
    """

    kept: SavedStates
    key: str = ""
    catch_up: Mapping[str, Any] = field(default_factory=lambda: {"mode": "none", "within": None})
    stopped: float | None = None

    @property
    def makes_up(self) -> bool:
        """Whether missed occurrences are made up for."""
        return bool(self.key) and self.catch_up["mode"] != "none"


class ArmedTriggerHost:
    """The `TriggerHost` of one trigger of one automation.

    Args:
        parts: The engine's dependencies.
        automation: The automation of the trigger, validated.
        config: The trigger.
        variables: `trigger_variables`, rendered.
        schedules: The past of its schedules.
        on_firing: Called with each firing.
        on_problem: Called with the trigger's index and why it cannot watch.
    """

    __slots__ = (
        "_on_firing",
        "_on_problem",
        "_schedules",
        "_told",
        "_variables",
        "automation_id",
        "catch_up",
        "index",
        "parts",
        "templates",
        "variables",
    )

    def __init__(
        self,
        parts: AutomationParts,
        automation: Mapping[str, Any],
        config: Mapping[str, Any],
        variables: Mapping[str, Any],
        schedules: Schedules,
        *,
        on_firing: Callable[[Firing], Any],
        on_problem: Callable[[str, str], None],
    ) -> None:
        self.parts = parts
        self.automation_id: str = automation["id"]
        self.templates: bool = automation["templates"]
        self.index: str = config["index"]
        self.variables = variables
        self.catch_up = schedules.catch_up
        self._schedules = schedules
        self._on_firing = on_firing
        self._on_problem = on_problem
        self._variables: Mapping[str, Any] = config.get("variables") or {}
        self._told = {
            "platform": config["trigger"],
            "id": config.get("id", self.index),
            "idx": self.index,
            "alias": config.get("alias"),
        }

    def armed(self) -> float | None:
        """Return the time when it was first armed in its present form, or None for just now."""
        return self._schedules.kept.armed.get(self._schedules.key)

    def handled(self) -> float | None:
        """Return the planned time of the last handled occurrence, or the time since when it counts; None for now."""
        armed, schedules = self.armed(), self._schedules
        if schedules.makes_up:
            return schedules.kept.handled.get(schedules.key, armed)
        # Occurrences missed while the hub was down are reported, not made up; after a crash the time is unknown.
        return None if armed is None or schedules.stopped is None else max(armed, schedules.stopped)

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
        """Pass a firing on; see `hub.automation.contract.TriggerHost`."""
        told = {**self._told, **trigger}
        key = self._schedules.key if self._schedules.makes_up else ""
        firing = Firing(told, context, tainted, planned, missed, skipped, self._variables, key)
        try:
            self._on_firing(firing)
        except Exception:  # an error in one automation must not reach whoever fired the event
            _log.exception("automation %s: its trigger %s fired and was not handled", self.automation_id, self.index)

    def fail(self, message: str) -> None:
        """Report that it cannot fire."""
        self._on_problem(self.index, message)
