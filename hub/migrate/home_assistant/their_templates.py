"""The entities that a Home Assistant makes of templates and of what servers answer, in files and in the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.config.labels import PLATFORM_SECTIONS
from hub.config.marks import ConfigList, Mark, place, plain
from hub.migrate.home_assistant.their_files import TheirHome

TEMPLATE = "template"
MADE_HERE = (TEMPLATE, "rest", "command_line")
"""Sections, and platforms of others, whose items come along as they are."""
_ENTRIES, _REGISTRY = "core.config_entries", "core.entity_registry"
_NOT_KEYS = ("template_type", "device_id")
_NAMED = ("sensors", "switches", "lights", "covers", "fans", "panels", "vacuums")
"""Keys of the older form whose keys are the names."""


class TheirTemplate(Struct, frozen=True):
    """An item of `template:` or `rest:`, or of `sensor:` and the like with that platform.

    Attributes:
        section: Where it stands, and is to stand.
        name: What is in it, for people.
        value: As it is written; what was stored in the form of a file.
        text: It as it was written, where that can be cut out.
    """

    section: str
    name: str
    value: Mapping[str, Any]
    mark: Mark
    file: str
    line: int
    last: int
    text: str | None = None


def their_templates(theirs: TheirHome) -> Iterator[TheirTemplate]:
    """Yield them, those of the files first."""
    for section in (*MADE_HERE, *PLATFORM_SECTIONS):
        found = theirs.data.get(section)
        items = zip(found, found.marks, strict=True) if isinstance(found, ConfigList) else ()
        for value, mark in items:
            if isinstance(value, Mapping) and is_template(section, value):
                file, line, _ = place(mark)
                text, _, last = theirs.text_at(mark, is_item=True)
                yield TheirTemplate(section, _name(section, value), value, mark, file, line, last, text)
    ids = {
        str(each.get("unique_id")): str(each.get("entity_id"))
        for each in theirs.stored_items(_REGISTRY, "entities")
        if each.get("platform") == TEMPLATE
    }
    for each in theirs.stored_items(_ENTRIES, "entries"):
        options = each.get("options")
        if each.get("domain") == TEMPLATE and isinstance(options, Mapping):
            value = _of_entry(str(each.get("entry_id")), options, ids)
            file = f".storage/{_ENTRIES}"
            yield TheirTemplate(TEMPLATE, _name(TEMPLATE, value), value, theirs.start, file, 0, 0)


def is_template(section: str, value: Mapping[str, Any]) -> bool:
    """Whether an item of a section makes template entities, or reads sensors from servers."""
    return section in MADE_HERE or value.get("platform") in MADE_HERE


def _of_entry(entry_id: str, options: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Return what was made in the browser as a block of a file."""
    kept = {key: plain(value) for key, value in options.items() if key not in _NOT_KEYS and value is not None}
    if "value_template" in kept:
        kept["state"] = kept.pop("value_template")
    entity_id = {"default_entity_id": ids[entry_id]} if entry_id in ids else {}
    return {str(options.get("template_type")): [{**kept, "unique_id": entry_id, **entity_id}]}


def _name(section: str, value: Mapping[str, Any]) -> str:
    """Return what is in an item: the names of its entities, as far as there is room."""
    found: list[str] = []
    if section in MADE_HERE:
        for domain, given in value.items():
            many = given if isinstance(given, list) else [given]
            found += [f"{domain} {each['name']}" for each in many if isinstance(each, Mapping) and "name" in each]
    else:
        found += [f"{section}.{name}" for key in _NAMED for name in value.get(key) or ()]
        found += [f"{section} {value['name']}"] if "name" in value else []
    more = f" +{len(found) - 3}" if len(found) > 3 else ""
    return (", ".join(found[:3]) + more) or section
