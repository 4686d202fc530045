"""The sections of helpers, one for each kind: `input_boolean:`, `timer:`, …"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hub.config.sections import Section
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    DescribedLater,
    Invalid,
    Length,
    Match,
    Optional,
    Required,
    Schema,
    as_list,
    show,
    string,
)
from hub.core.slugs import slugify
from hub.entities.helpers.contract import HelperKind, Settings
from hub.entities.helpers.table import HELPERS

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
        string, Match(r"^[a-z0-9-]{1,64}:[a-z0-9-]{1,64}$", msg=phrase("expected an icon such as mdi:fan"))
    ),
}


def entries(kind: HelperKind, config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the helpers of a kind that a checked configuration has, by key, with those that need no naming."""
    found: dict[str, Settings] = dict(kind.built_in(config.get("hub") or {}))
    named = (config.get(kind.domain) or {}) if kind.is_section else {}
    if kind.is_listed:
        for settings in named:
            found.setdefault(slugify(settings["name"]) or kind.domain, settings)
        return found
    return {**found, **{key: {**settings, "order": index} for index, (key, settings) in enumerate(named.items())}}


def helper_ids(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entity ids of the helpers of a configuration."""
    for kind in HELPERS.values():
        yield from (f"{kind.domain}.{key}" for key in entries(kind, config))


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


SECTIONS = tuple(_section(kind) for kind in HELPERS.values() if kind.is_section)
