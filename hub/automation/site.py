"""What an armed trigger stands on: it knows its place and its automation, and passes firings on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson

from hub.automation.contract import Firing, Parts
from hub.automation.kept import Kept
from hub.core.context import Context

_log = logging.getLogger(__name__)


def trigger_key(config: Mapping[str, Any]) -> str:
    """Return what a trigger's handled times are kept under: the same as long as what it says is the same."""
    said = {key: value for key, value in config.items() if key not in {"index", "alias", "id", "enabled", "variables"}}
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()[:16]


class ArmedSite:
    """The `Site` of one trigger of one automation.

    Args:
        parts: What the engine was handed.
        automation: Whose trigger it is, validated.
        config: The trigger.
        variables: `trigger_variables`, rendered.
        catch_up: What becomes of missed occurrences.
        kept: What is kept of the automation.
        on_firing: Told each firing.
        on_problem: Told the trigger's index and why it cannot watch.
    """

    __slots__ = (
        "_kept",
        "_key",
        "_on_firing",
        "_on_problem",
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
        parts: Parts,
        automation: Mapping[str, Any],
        config: Mapping[str, Any],
        variables: Mapping[str, Any],
        catch_up: Mapping[str, Any],
        kept: Kept,
        on_firing: Callable[[Firing], Any],
        on_problem: Callable[[str, str], None],
    ) -> None:
        self.parts = parts
        self.automation_id: str = automation["id"]
        self.templates: bool = automation["templates"]
        self.index: str = config["index"]
        self.variables = variables
        self.catch_up = catch_up
        self._kept = kept
        self._key = trigger_key(config) if catch_up["mode"] != "none" else ""
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
        """Return since when it is armed as it stands in the file, or None when just now."""
        return self._kept.armed

    def handled(self) -> float | None:
        """Return the planned time of the last occurrence that was handled, or since when it is armed."""
        return self._kept.handled.get(self._key, self._kept.armed)

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
        """Pass a firing on; see `hub.automation.contract.Site`."""
        told = {**self._told, **trigger}
        firing = Firing(told, context, tainted, planned, missed, skipped, self._variables, self._key)
        try:
            self._on_firing(firing)
        except Exception:  # whatever is wrong with one automation must not reach who told the trigger
            _log.exception("automation %s: its trigger %s fired and was not handled", self.automation_id, self.index)

    def fail(self, message: str) -> None:
        """Tell that it cannot watch."""
        self._on_problem(self.index, message)
