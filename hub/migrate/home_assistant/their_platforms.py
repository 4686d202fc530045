"""What a Home Assistant makes of other entities, groups of a kind, statistics, meters …: of files and the browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.labels import PLATFORM_SECTIONS
from hub.config.marks import ConfigList, place, plain
from hub.core.slugs import slugify
from hub.entities.helpers.table import LATER
from hub.migrate.home_assistant.their_files import TheirHome
from hub.migrate.home_assistant.their_templates import TheirTemplate

ENTRIES, REGISTRY = "core.config_entries", "core.entity_registry"
METER = "utility_meter"
_SECTIONS = {
    **dict.fromkeys(("derivative", "history_stats", "integration", "min_max", "statistics", "time_date"), "sensor"),
    **dict.fromkeys(("threshold", "trend"), "binary_sensor"),
}
"""By the domain of what was made in the browser; of groups, what they say themselves."""
MADE = frozenset({*_SECTIONS, "group", METER})
_NOT_KEYS = ("group_type", "hide_members", "device_id")
_TREND = ("entity_id", "attribute", "invert", "max_samples", "min_samples", "min_gradient", "sample_duration")


def is_ours(section: str, value: Mapping[str, Any]) -> bool:
    """Whether an item of a section is a helper here."""
    return (section, str(value.get("platform"))) in LATER


def their_platforms(theirs: TheirHome) -> Iterator[TheirTemplate]:
    """Yield them, those of the files first."""
    for section in PLATFORM_SECTIONS:
        found = theirs.data.get(section)
        items = zip(found, found.marks, strict=True) if isinstance(found, ConfigList) else ()
        for value, mark in items:
            if isinstance(value, Mapping) and is_ours(section, value):
                file, line, _ = place(mark)
                text, _, last = theirs.text_at(mark, is_item=True)
                yield TheirTemplate(section, _name(section, value), value, mark, file, line, last, text)
    for entry_id, domain, options in _entries(theirs):
        section = str(options.get("group_type")) if domain == "group" else _SECTIONS.get(domain, "")
        if (section, domain) in LATER:
            value = _item(theirs, section, domain, entry_id, options)
            yield TheirTemplate(section, _name(section, value), value, theirs.start, f".storage/{ENTRIES}", 0, 0)


def their_meters(theirs: TheirHome) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the utility meters that were made in the browser, by key."""
    for entry_id, domain, options in _entries(theirs):
        if domain != METER:
            continue
        kind = "select" if options.get("tariffs") else "sensor"
        known = _known_id(theirs, METER, entry_id, kind)
        value = {key: each for key, each in options.items() if key != "offset" and each not in ("none", [])}
        if options.get("offset"):
            value["offset"] = {"days": options["offset"]}
        given = {"default_entity_id": known} if known and kind == "sensor" else {}
        yield known.partition(".")[2] or slugify(str(options.get("name"))), {**value, **given}


def _entries(theirs: TheirHome) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what was made in the browser: its id, what makes it, and its keys, as a file has them."""
    names = {str(each.get("id")): str(each.get("entity_id")) for each in theirs.stored_items(REGISTRY, "entities")}
    for each in theirs.stored_items(ENTRIES, "entries"):
        options, domain = each.get("options"), str(each.get("domain"))
        if domain in MADE and isinstance(options, Mapping):
            kept = {key: _whole(plain(value), names) for key, value in options.items() if value is not None}
            yield str(each.get("entry_id")), domain, {"name": str(each.get("title") or domain), **kept}


def _whole(value: Any, names: Mapping[str, str]) -> Any:
    """Return a stored value as it would be written: whole numbers as such, and entities by their ids."""
    if isinstance(value, list):
        return [_whole(each, names) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return names.get(value, value) if isinstance(value, str) else value


def _known_id(theirs: TheirHome, platform: str, unique_id: str, domain: str) -> str:
    """Return the entity id that something has there, empty for none."""
    return next(
        (
            str(each.get("entity_id"))
            for each in theirs.stored_items(REGISTRY, "entities")
            if (each.get("platform"), each.get("unique_id")) == (platform, unique_id)
            and str(each.get("entity_id")).startswith(f"{domain}.")
        ),
        "",
    )


def _item(theirs: TheirHome, section: str, domain: str, entry_id: str, options: Mapping[str, Any]) -> dict[str, Any]:
    known = _known_id(theirs, domain, entry_id, section)
    if domain == "trend":
        own = {key: options[key] for key in _TREND if key in options}
        key = known.partition(".")[2] or slugify(options["name"])
        return {"platform": domain, "sensors": {key: {"friendly_name": options["name"], **own}}}
    kept = {key: each for key, each in options.items() if key not in _NOT_KEYS}
    given = {"default_entity_id": known} if known else {}
    return {"platform": domain, **kept, "unique_id": entry_id, **given}


def _name(section: str, value: Mapping[str, Any]) -> str:
    """Return what an item makes, for people."""
    many = value.get("sensors")
    if isinstance(many, Mapping):
        return ", ".join(f"{section}.{each}" for each in many)
    return f"{section} {value.get('name') or value.get('platform')}"
