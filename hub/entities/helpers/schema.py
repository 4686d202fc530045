"""The sections of helpers: one for each kind, `input_boolean:`, `timer:`, and the items of `sensor:` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from hub.config.labels import PLATFORM_SECTIONS
from hub.config.sections import IntegrationSections, NoIntegrations, SchemaProblem, Section
from hub.config.suggest import did_you_mean
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import (
    REQUIRED_MESSAGE,
    All,
    Described,
    DescribedLater,
    Invalid,
    Length,
    Match,
    Optional,
    Required,
    Schema,
    as_list,
    entity_id,
    show,
    string,
)
from hub.core.slugs import slugify
from hub.entities.helpers.contract import HelperKind, Settings
from hub.entities.helpers.table import HELPERS, LATER, LATER_SECTIONS, kinds_in, platform_kind

_NAME = re.compile(r"[a-z0-9_]{1,64}")


def key_name(value: Any) -> str:
    """Accept the key of a helper, which is the second part of its id."""
    text = str(value)
    if not _NAME.fullmatch(text):
        raise Invalid(phrase("expected a name of a-z, 0-9 and _, got {value}", value=show(value)))
    return text


LIMIT = 1_000
_COMMON_NAME = All(string, Length(min=1, max=100))
_COMMON: Mapping[Any, Any] = {
    Optional("name", description="Its name for people"): _COMMON_NAME,
    Optional("icon", description="Its icon, such as mdi:fan"): All(
        string, Match(r"^[a-z0-9-]{1,64}:[A-Za-z0-9_-]{1,64}$", msg=phrase("expected an icon such as mdi:fan"))
    ),
}


def entries(kind: HelperKind, config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the helpers of a kind that a checked configuration has, by key, with those that need no naming."""
    found: dict[str, Settings] = dict(kind.built_in(config))
    named = (config.get(kind.section) or {}) if kind.is_section else {}
    if kind.platform:
        return _items(kind, named)
    if kind.is_listed:
        for settings in named:
            found.setdefault(slugify(settings["name"]) or kind.domain, settings)
        return found
    for index, (key, settings) in enumerate(named.items()):
        found |= kind.each_of(key, {**settings, "order": index})
    return found


def _items(kind: HelperKind, named: Iterable[Settings]) -> dict[str, Settings]:
    """Return those that name the platform: by their unique id, else by what their entity id begins as."""
    found: dict[str, Settings] = {}
    for settings in named:
        if settings["platform"] != kind.platform:
            continue
        base = str(settings.get("unique_id") or slugify(settings.get("name", "")) or kind.platform)
        keys = (base, *(f"{base}_{count}" for count in range(2, LIMIT)))
        found |= kind.each_of(next(each for each in keys if each not in found), settings)
    return found


def helper_ids(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entity ids of the helpers of a configuration."""
    for kind in kinds_in(config):
        yield from (
            f"{kind.domain}.{object_id(kind, key, settings)}" for key, settings in entries(kind, config).items()
        )


def object_id(kind: HelperKind, key: str, settings: Settings) -> str:
    """Return what the entity id of a helper begins as, without its domain."""
    if given := settings.get("default_entity_id"):
        return str(given).partition(".")[2]
    return settings.get("object_id") or (slugify(settings["name"]) or kind.platform if kind.platform else key)


def _entry(kind: HelperKind) -> Any:
    name = {Required("name", description="Its name, which its id is made of"): _COMMON_NAME} if kind.is_listed else {}
    fields = Schema({**name, **_COMMON, **kind.fields})

    def check(value: Any) -> Any:
        return kind.rule(fields(kind.short(value)))

    return DescribedLater(check, lambda: to_json_schema(fields), kind.domain, "object")


def _section(kind: HelperKind) -> Section:
    entry = _entry(kind)
    schema = All(as_list, [entry], Length(max=LIMIT)) if kind.is_listed else Schema({key_name: entry})
    default: Any = [] if kind.is_listed else {}
    return Section(kind.domain, schema, default=default, description=kind.description, each_item=True)


def _later_section(section: str, description: str) -> Section:
    """Return a section of kinds that are imported once it has an entry."""

    @cache
    def entry() -> Any:
        kind = platform_kind(section, "")
        return _entry(kind) if kind is not None else object

    def check(value: Any) -> Any:
        return entry()(value)

    named = DescribedLater(check, lambda: to_json_schema(entry()), section, "object")
    return Section(section, Schema({key_name: named}), default={}, description=description, each_item=True)


SECTIONS = (
    *(_section(kind) for kind in HELPERS.values() if kind.is_section),
    *(_later_section(name, description) for name, description in LATER_SECTIONS.items()),
)
SECTION_NAMES = frozenset((*(each.name for each in SECTIONS), *PLATFORM_SECTIONS))
_PLATFORM = {
    Required("platform"): string,
    Optional("unique_id", description="Keeps what people decide about it when its name changes"): string,
    Optional("default_entity_id", description="Its entity id at first, in place of one made of its name"): entity_id,
    Optional("scan_interval", description="Of Home Assistant; not needed here"): object,
    Optional("entity_namespace", description="Of Home Assistant; not used"): object,
}
_ITEM_JSON = {
    "type": "object",
    "required": ["platform"],
    "properties": {"platform": {"type": "string", "description": "What makes it; the other keys are as it wants them"}},
    "additionalProperties": True,
}


@cache
def _item_fields(section: str, platform: str) -> tuple[Schema, HelperKind] | None:
    kind = platform_kind(section, platform)
    return None if kind is None else (Schema({**_PLATFORM, **_COMMON, **kind.fields}), kind)


def platform_sections(integrations: IntegrationSections | None = None) -> list[Section]:
    """Return the sections whose items name the platform that makes them.

    Args:
        integrations: Those that make some.
    """
    return [_platform_section(name, integrations or NoIntegrations()) for name in PLATFORM_SECTIONS]


def _platform_section(section: str, integrations: IntegrationSections) -> Section:
    def check(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise Invalid(phrase("expected keys with values, among them platform, got {value}", value=show(value)))
        if "platform" not in value:
            raise Invalid(REQUIRED_MESSAGE, path=["platform"])
        platform = string(value["platform"])
        if (found := _item_fields(section, platform)) is not None:
            fields, kind = found
            return kind.rule(fields(kind.short(value)))
        try:
            schema = integrations.platform(section, platform)
        except SchemaProblem as problem:
            raise Invalid(
                phrase("the integration {name} cannot be used: {reason}", name=platform, reason=problem.message)
            ) from None
        if schema is None:
            raise Invalid(_unknown(section, platform, integrations), path=["platform"])
        return {**schema({key: each for key, each in value.items() if key != "platform"}), "platform": platform}

    item = Described(check, _ITEM_JSON, section)
    return Section(
        section,
        All(as_list, [item], Length(max=LIMIT)),
        default=[],
        description="Entities, each made by the platform that it names: a kind of helper, or an integration",
        each_item=True,
        described_with="sensor" if section != "sensor" else "",
    )


def _unknown(section: str, platform: str, integrations: IntegrationSections) -> str:
    known = sorted({*(each for name, each in LATER if name == section), *integrations.platforms(section)})
    told = phrase(
        "nothing here makes entities of {section} with the platform {platform}; there are: {known}",
        section=section,
        platform=platform,
        known=known,
    )
    near = did_you_mean(platform, known)
    way = phrase("what a Home Assistant has comes along by the section home_assistant, and devices by mqtt")
    return f"{told}; {near or way}"
