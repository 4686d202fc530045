"""Checks that what the section `voice` names exists: models, agents, people, areas and satellites.

An agent that does not exist is an error, as everywhere. The rest may come later, or be away: each is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.automation.editing.unknown_things import stored_registries
from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.entities.entries import RegistryData
from hub.messaging.access.routing_schema import check_agent
from hub.models.schema import models_at
from hub.voice.contract import DOMAIN
from hub.voice.settings import is_named

SECTION = "voice"
Keys = tuple[str | int, ...]
Place = tuple[str, ...]
PLACES: tuple[Place, ...] = ((SECTION,), (SECTION, "satellites", "*"), (SECTION, "people", "*"))
"""Where settings of satellites stand: for all, for one, and for those of a person."""


def parts(config: Mapping[str, Any]) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Yield the settings at each of `PLACES`, with their keys."""
    section = config.get(SECTION) or {}
    yield (SECTION,), section
    for key in ("satellites", "people"):
        for index, item in enumerate(section.get(key) or ()):
            yield (SECTION, key, index), item


def seen_satellites(registries: RegistryData) -> dict[str, str]:
    """Return the satellites that were there once: their names by their ids."""
    start = f"{DOMAIN}_"
    return {
        each.unique_id.removeprefix(start): each.name or each.original_name or each.unique_id.removeprefix(start)
        for each in registries.entities
        if each.domain == DOMAIN and each.unique_id.startswith(start)
    }


def _agents_exist(config: Config, report: CheckReport) -> None:
    for keys, settings in parts(config):
        if (agent := settings.get("agent")) is not None:
            check_agent(config, report, (*keys, "agent"), agent)


def _people_exist(config: Config, report: CheckReport) -> None:
    stated = config.get("people")
    if stated is None:
        return  # they are broken and have their own errors
    known = [each["id"] for each in stated]
    section = config.get(SECTION) or {}
    named: list[tuple[Keys, str]] = [
        ((SECTION, "people", index, "id"), each["id"]) for index, each in enumerate(section.get("people") or ())
    ]
    named += [
        ((SECTION, "satellites", index, "person"), each["person"])
        for index, each in enumerate(section.get("satellites") or ())
        if "person" in each
    ]
    for keys, id in named:
        if id not in known:
            wrong = phrase("nobody in people has the id {id}", id=id)
            report.warning(keys, wrong, did_you_mean(id, known, known=phrase("there are")))


def _places_exist(config: Config, report: CheckReport) -> None:
    satellites = (config.get(SECTION) or {}).get("satellites") or ()
    registries = stored_registries(config.home) if satellites else None
    if registries is None:
        return
    seen = seen_satellites(registries)
    areas = [name for area in registries.areas for name in (area.id, area.name)]
    for index, each in enumerate(satellites):
        keys: Keys = (SECTION, "satellites", index)
        if each["id"] not in seen:
            wrong = phrase("no satellite {id} has been seen yet; it may be switched off", id=each["id"])
            report.warning((*keys, "id"), wrong, did_you_mean(each["id"], seen, known=phrase("there are")))
        if "area" in each and not any(is_named(area, each["area"]) for area in registries.areas):
            wrong = phrase("there is no {kind} {id} in this home", kind=phrase("area"), id=each["area"])
            report.warning((*keys, "area"), wrong, did_you_mean(each["area"], areas, known=phrase("there are")))


CROSS_CHECKS: Mapping[str, CrossCheck] = {
    "models": models_at(*((*place, key) for place in PLACES for key in ("transcription_model", "speech_model"))),
    "agents": _agents_exist,
    "people": _people_exist,
    "satellites": _places_exist,
}
"""For the schema of the section."""
