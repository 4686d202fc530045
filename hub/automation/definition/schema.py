"""Configuration of automations and scripts: `automation:` and `script:`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hub.automation.definition import commands
from hub.automation.definition.grammar import automation_field, script_field
from hub.automation.definition.kinds import Kinds
from hub.automation.definition.used_kinds import used_kinds
from hub.config.checked import Config
from hub.config.explain import keys_of
from hub.config.paths import Key
from hub.config.sections import CheckReport, CrossCheck, Section
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Match, Schema, SchemaError, as_list, each_error, string
from hub.integration.catalog import CatalogEntry

AUTOMATIONS_LIMIT = 10_000
_SCRIPT_KEY = All(string, Match(r"^[a-z0-9_]{1,64}$", msg="expected a name of a-z, 0-9 and _ for the script"))


def sections(kinds: Kinds) -> list[Section]:
    """Return `automation:`, `script:`, `shell_command:` and `rest_command:`.

    Args:
        kinds: The kinds of triggers, conditions and actions that they may use.
    """
    return [
        Section(
            "automation",
            All(as_list, Schema([automation_field(kinds)]), Length(max=AUTOMATIONS_LIMIT)),
            default=[],
            description="What happens by itself",
            each_item=True,
            shows_broken=True,
        ),
        Section(
            "script",
            Schema({_SCRIPT_KEY: script_field(kinds)}),
            default={},
            description="Sequences of actions, by name",
            each_item=True,
            shows_broken=True,
        ),
        *commands.SECTIONS,
    ]


def _ids_are_unique(config: Mapping[str, Any], report: CheckReport) -> None:
    seen: dict[str, int] = {}
    for index, item in enumerate(config.get("automation") or ()):
        id = item.get("id")
        if id is None:
            continue
        if id in seen:
            report.error(
                ("automation", index, "id"),
                phrase("there are two automations with the id {id}", id=repr(id)),
                phrase("Give each an id of its own."),
            )
        seen[id] = index


def _items(config: Mapping[str, Any]) -> Iterator[tuple[str, Key, Any]]:
    yield from (("automation", index, item) for index, item in enumerate(config.get("automation") or ()))
    yield from (("script", name, item) for name, item in (config.get("script") or {}).items())


def blueprints_fit(folders: Callable[[Config], Iterable[Path]]) -> CrossCheck:
    """Return the check that every item that uses a blueprint has valid inputs.

    Args:
        folders: Returns the folders of blueprints that the integrations in use bring.
    """

    def check(config: Config, report: CheckReport) -> None:
        home = config.home
        used = [each for each in _items(config) if "use_blueprint" in each[2]]
        if home is None or not used:
            return
        from hub.automation.blueprints.expanding import expand, store_of

        store = store_of(home, further=lambda: folders(config))
        for section, place, item in used:
            try:
                expand(item, section, store)
            except SchemaError as error:
                for each in each_error(error):
                    report.error((section, place, *keys_of(each)), each.msg)

    return check


def kinds_are_in_use(kinds: Kinds, unused: Callable[[Config], Mapping[str, CatalogEntry]]) -> CrossCheck:
    """Return the check that no item uses a kind of an unused integration.

    An item may be written before its integration is set up if that comes with the program.

    Args:
        kinds: All that there are.
        unused: Returns such kinds, each with its integration.
    """

    def check(config: Config, report: CheckReport) -> None:
        away = unused(config)
        if not away:
            return
        for section, place, item in _items(config):
            for keys, name in used_kinds(item, kinds):
                if (found := away.get(name)) is None:
                    continue
                told = phrase(
                    "{name} comes with the integration {domain}, which is not in use", name=name, domain=found.domain
                )
                tell = report.error if found.custom else report.warning
                tell((section, place, *keys), told, phrase("Configure {domain}: or enable it.", domain=found.domain))

    return check


CROSS_CHECKS: Mapping[str, CrossCheck] = {"automation ids": _ids_are_unique}
