"""The kinds of helpers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from hub.entities.helpers.contract import HelperKind
from hub.entities.helpers.groups import GROUP
from hub.entities.helpers.inputs import BOOLEAN, BUTTON, COUNTER, NUMBER, SELECT, TEXT
from hub.entities.helpers.moments import DATETIME, TIMER
from hub.entities.helpers.places import PERSON, SUN, SUN_SENSOR, ZONE
from hub.entities.helpers.scene import SCENE
from hub.entities.helpers.week import SCHEDULE

HELPERS: Mapping[str, HelperKind] = {
    kind.domain: kind
    for kind in (
        *(BOOLEAN, BUTTON, COUNTER, DATETIME, GROUP, NUMBER, PERSON, SCENE, SCHEDULE, SELECT, SUN, TEXT, TIMER, ZONE),
    )
}
"""By the domain of their entities, which is the section that names them."""
LATER: Mapping[tuple[str, str], str] = {
    **{
        (domain, "group"): "member_groups"
        for domain in (
            "binary_sensor",
            "button",
            "cover",
            "event",
            "fan",
            "light",
            "lock",
            "media_player",
            "sensor",
            "switch",
        )
    },
    ("notify", "group"): "notify_groups",
    ("binary_sensor", "threshold"): "limits",
    ("binary_sensor", "trend"): "limits",
    ("sensor", "derivative"): "rates",
    ("sensor", "filter"): "filters",
    ("sensor", "history_stats"): "history_stats",
    ("sensor", "integration"): "rates",
    ("sensor", "min_max"): "min_max",
    ("sensor", "statistics"): "sampled",
    ("sensor", "time_date"): "clock",
    ("utility_meter", ""): "utility_meter",
}
"""By section and platform: the module here that has them in its `KINDS`, which is imported once one is named."""
RELOADED = tuple(
    dict.fromkeys(
        (
            *(domain for domain, kind in HELPERS.items() if kind.is_section),
            *(platform or section for section, platform in LATER),
        )
    )
)
"""Domains that have a service `reload`."""


LATER_SECTIONS: Mapping[str, str] = {
    "utility_meter": "What sensors count in an hour, a day, a month …, by name",
}
"""Sections of those that have one of their own, with what they are, for the reference."""


def platform_kind(section: str, platform: str) -> HelperKind | None:
    """Return the kind that items of a section name as their platform, or None."""
    return next(_kinds(section, platform), None)


def kinds_in(config: Mapping[str, Any]) -> Iterator[HelperKind]:
    """Yield the kinds that a checked configuration may name helpers of, among those that need an import."""
    yield from (*HELPERS.values(), SUN_SENSOR)
    for section, platform in LATER:
        named = config.get(section)
        if named and (not platform or any(each["platform"] == platform for each in named)):
            yield from _kinds(section, platform)


def section_of(source: str, domain: str) -> str | None:
    """Return the section that names helpers of a source and a domain; None if that source makes none."""
    if (domain, source) in LATER:
        return domain
    if source == SUN_SENSOR.source and domain == SUN_SENSOR.domain:
        return source
    return source if (source, "") in LATER or source == domain in HELPERS else None


def _kinds(section: str, platform: str) -> Iterator[HelperKind]:
    if (module := LATER.get((section, platform))) is not None:
        kinds: tuple[HelperKind, ...] = import_module(f"hub.entities.helpers.{module}").KINDS
        yield from (kind for kind in kinds if (kind.section, kind.platform) == (section, platform))
