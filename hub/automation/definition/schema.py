"""Configuration of automations and scripts: `automation:` and `script:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.definition.grammar import AUTOMATION, SCRIPT
from hub.config.explain import keys_of
from hub.config.sections import CheckReport, CrossCheck, Section
from hub.core.schema import All, Length, Match, Schema, SchemaError, as_list, each_error, string

AUTOMATIONS_LIMIT = 10_000
_SCRIPT_KEY = All(string, Match(r"^[a-z0-9_]{1,64}$", msg="expected a name of a-z, 0-9 and _ for the script"))

SECTIONS: tuple[Section, ...] = (
    Section(
        "automation",
        All(as_list, Schema([AUTOMATION]), Length(max=AUTOMATIONS_LIMIT)),
        default=[],
        description="What happens by itself",
        each_item=True,
        shows_broken=True,
    ),
    Section(
        "script",
        Schema({_SCRIPT_KEY: SCRIPT}),
        default={},
        description="Sequences of actions, by name",
        each_item=True,
        shows_broken=True,
    ),
)


def _ids_are_unique(config: Mapping[str, Any], report: CheckReport) -> None:
    seen: dict[str, int] = {}
    for index, item in enumerate(config.get("automation") or ()):
        id = item.get("id")
        if id is None:
            continue
        if id in seen:
            report.error(
                ("automation", index, "id"),
                f"there are two automations with the id {id!r}",
                "Give each an id of its own.",
            )
        seen[id] = index


def _blueprints_fit(config: Mapping[str, Any], report: CheckReport) -> None:
    home = getattr(config, "home", None)
    used = [("automation", index, item) for index, item in enumerate(config.get("automation") or ())]
    used += [("script", name, item) for name, item in (config.get("script") or {}).items()]
    used = [each for each in used if "use_blueprint" in each[2]]
    if home is None or not used:
        return
    from hub.automation.blueprints.expanding import expand, shelf_of

    shelf = shelf_of(home)
    for section, place, item in used:
        try:
            expand(item, section, shelf)
        except SchemaError as error:
            for each in each_error(error):
                report.error((section, place, *keys_of(each)), str(each.msg))


CROSS_CHECKS: Mapping[str, CrossCheck] = {"automation ids": _ids_are_unique, "blueprints": _blueprints_fit}
