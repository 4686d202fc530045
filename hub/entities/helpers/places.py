"""`sun`, `zone` and `person`: what follows from where the home is, and who is where.

Source: the documentation of these integrations of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.schema import All, Optional, Range, Required, boolean, numeric
from hub.core.slugs import object_id
from hub.core.states import EntityState
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings
from hub.entities.sun import GeoPosition, next_times, sun_position
from hub.security.people import IMPLICIT_OWNER_ID

LOOK_EVERY_S = 240.0
"""The sun takes so long for a degree."""
RADIUS_M = 100.0
HOME = "home"
_NOWHERE = ("not_home", "unknown", "unavailable")
_OF_A_PLACE = ("latitude", "longitude", "gps_accuracy")


# --- sun ---


def _sun(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    place = GeoPosition(settings["latitude"], settings["longitude"], settings["elevation"])
    position, times = sun_position(place, home.now), next_times(place, home.now)
    told = {f"next_{name}": _iso(at) for name, at in times.items()}
    told |= {"next_rising": _iso(position.next_rising), "next_setting": _iso(position.next_setting)}
    known = [at for at in (*times.values(), position.next_rising, position.next_setting) if at is not None]
    noon, midnight = times["noon"], times["midnight"]
    return Held(
        "above_horizon" if position.is_up else "below_horizon",
        {
            **told,
            "elevation": round(position.elevation, 2),
            "azimuth": round(position.azimuth, 2),
            "rising": noon is not None and midnight is not None and noon < midnight,
        },
        min([home.now + LOOK_EVERY_S, *(at + 1 for at in known)]),
    )


def _iso(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds is not None else None


def _the_sun(config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the sun of a home that says where it is."""
    hub = config.get("hub") or {}
    if "latitude" not in hub:
        return {}
    return {"sun": {"name": "Sun", **{key: hub[key] for key in ("latitude", "longitude", "elevation")}}}


SUN = HelperKind(
    "sun",
    "",
    {},
    _sun,
    {},
    wake=_sun,
    built_in=_the_sun,
    is_section=False,
    is_kept=False,
    has_editable=False,
)


def _of_sun(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    sun = home.state("sun")
    value = sun.attributes.get(settings["attribute"]) if sun is not None else None
    if settings.get("device_class") == "timestamp" and value is not None:
        value = datetime.fromisoformat(value).isoformat(timespec="seconds")
    return Held(None if value is None else str(value))


def _sun_sensors(config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the sensors of the sun: its moments, and switched off at first, where it is."""
    if not _the_sun(config):
        return {}
    moments: dict[str, dict[str, Any]] = {f"next_{each}": {"device_class": "timestamp"} for each in _MOMENTS}
    degrees = {"unit_of_measurement": "°", "state_class": "measurement", "enabled": False}
    places: dict[str, dict[str, Any]] = {
        "solar_azimuth": degrees,
        "solar_elevation": degrees,
        "solar_rising": {"enabled": False},
    }
    return {
        key: {
            "name": f"Sun {key.replace('_', ' ').capitalize()}",
            "object_id": f"sun_{key}",
            "entity_category": "diagnostic",
            "attribute": key.removeprefix("solar_"),
            **each,
        }
        for key, each in {**moments, **places}.items()
    }


_MOMENTS = ("dawn", "dusk", "midnight", "noon", "rising", "setting")
SUN_SENSOR = HelperKind(
    "sensor",
    "",
    {},
    _of_sun,
    {},
    shown=lambda settings: {"state_class": settings["state_class"]} if "state_class" in settings else {},
    wake=_of_sun,
    follows=lambda settings: ("sun",),
    built_in=_sun_sensors,
    is_section=False,
    is_kept=False,
    has_editable=False,
    named_in="sun",
)


# --- zone ---


def _zone(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    name = str(settings["name"]).casefold()
    is_home = settings.get("is_home", False)
    inside = [
        state.entity_id
        for state in home.states("person")
        if state.state not in _NOWHERE and (state.state.casefold() == name or (is_home and state.state == HOME))
    ]
    return Held(str(len(inside)), {"persons": sorted(inside)})


def _the_home(config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the zone of a home that says where it is."""
    hub = config.get("hub") or {}
    if "latitude" not in hub:
        return {}
    place = {"latitude": hub["latitude"], "longitude": hub["longitude"], "radius": RADIUS_M, "passive": False}
    return {HOME: {"name": hub["name"], "icon": "mdi:home", "is_home": True, "editable": True, **place}}


ZONE = HelperKind(
    "zone",
    "Places that people are at, beside home",
    {
        Required("latitude", description="Degrees north"): All(numeric, Range(min=-90, max=90)),
        Required("longitude", description="Degrees east"): All(numeric, Range(min=-180, max=180)),
        Optional("radius", default=RADIUS_M, description="Metres around it that belong to it"): All(
            numeric, Range(min=0)
        ),
        Optional("passive", default=False, description="Whether nobody is said to be there"): boolean,
    },
    _zone,
    {},
    shown=lambda settings: {key: settings[key] for key in ("latitude", "longitude", "radius", "passive")},
    wake=_zone,
    follows=lambda settings: ("person.",),
    built_in=_the_home,
    is_listed=True,
    is_kept=False,
)


# --- person ---


def _person(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Return where a person is: what a device at home says goes before a position, and a position before an absence."""
    known = [each for each in _trackers_of(settings, home) if each.state not in ("unknown", "unavailable")]
    gps = [each for each in known if each.attributes.get("source_type") == "gps"]
    others = [each for each in known if each not in gps]
    at_home = [each for each in others if each.state == HOME]
    away = [each for each in others if each.state == "not_home"]
    found = max(at_home or gps or away, key=lambda each: each.last_updated, default=None)
    if found is None:
        return kept if home.starting and kept is not None else Held(None, _said_of(settings))
    names = {HOME, "not_home", *(each.name for each in home.states("zone"))}
    place = {key: found.attributes[key] for key in _OF_A_PLACE if found.attributes.get(key) is not None}
    told = {**_said_of(settings), **place, "source": found.entity_id}
    return Held(found.state, told, tainted=found.state not in names)


def _said_of(settings: Settings) -> dict[str, Any]:
    return {"id": settings["id"], "device_trackers": list(settings["device_trackers"])}


def _trackers_of(settings: Settings, home: HelperHome) -> list[EntityState]:
    """Return the trackers that are named, or those of phones that report with the person's own rights."""
    if settings["device_trackers"]:
        return [state for id in settings["device_trackers"] if (state := home.state(id)) is not None]
    return [each for each in home.states("device_tracker") if each.context.authority.person == settings["id"]]


def _the_people(config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the people of the home."""
    found: dict[str, Settings] = {}
    for each in config.get("people") or [{"id": IMPLICIT_OWNER_ID, "name": "Owner"}]:
        trackers = tuple(each.get("device_trackers") or ())
        key = object_id(each["id"])
        found[key] = {"id": each["id"], "name": each.get("name") or each["id"], "device_trackers": trackers}
    return found


PERSON = HelperKind(
    "person",
    "",
    {},
    _person,
    {},
    wake=_person,
    follows=lambda settings: settings["device_trackers"] or ("device_tracker.",),
    built_in=_the_people,
    is_section=False,
)
