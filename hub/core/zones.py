"""Zones on the map: how far apart two places are, which zone a place lies in, and what it is called there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from hub.core.states import EntityState

HOME_ZONE = "zone.home"
HOME, NOT_HOME = "home", "not_home"
NOT_KNOWN = frozenset({"unknown", "unavailable"})
Position: TypeAlias = tuple[float, float]
"""Degrees north and east."""

_AXIS_M, _FLATTENING = 6_378_137.0, 1 / 298.257223563
_ROUNDS, _CONVERGED = 200, 1e-12


def distance_m(one: Position, other: Position) -> float:
    """Return the distance between two places along the ground, in metres.

    Vincenty's formula on the ellipsoid of GPS; for places that lie opposite each other, where it finds none, on a
    sphere.
    """
    if one == other:
        return 0.0
    minor = (1 - _FLATTENING) * _AXIS_M
    u1, u2 = (math.atan((1 - _FLATTENING) * math.tan(math.radians(each[0]))) for each in (one, other))
    sin1, cos1, sin2, cos2 = math.sin(u1), math.cos(u1), math.sin(u2), math.cos(u2)
    longitude = lam = math.radians(other[1] - one[1])
    for _ in range(_ROUNDS):
        sin_sigma = math.hypot(cos2 * math.sin(lam), cos1 * sin2 - sin1 * cos2 * math.cos(lam))
        if sin_sigma == 0:
            return 0.0
        cos_sigma = sin1 * sin2 + cos1 * cos2 * math.cos(lam)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = cos1 * cos2 * math.sin(lam) / sin_sigma
        cos2_alpha = 1 - sin_alpha**2
        middle = cos_sigma - 2 * sin1 * sin2 / cos2_alpha if cos2_alpha else 0.0
        c = _FLATTENING / 16 * cos2_alpha * (4 + _FLATTENING * (4 - 3 * cos2_alpha))
        last, inner = lam, middle + c * cos_sigma * (2 * middle**2 - 1)
        lam = longitude + (1 - c) * _FLATTENING * sin_alpha * (sigma + c * sin_sigma * inner)
        if abs(lam - last) < _CONVERGED:
            break
    else:
        return _on_a_sphere(one, other)
    squared = cos2_alpha * (_AXIS_M**2 - minor**2) / minor**2
    a = 1 + squared / 16_384 * (4_096 + squared * (squared * (320 - 175 * squared) - 768))
    b = squared / 1_024 * (256 + squared * (squared * (74 - 47 * squared) - 128))
    last_term = b / 6 * middle * (4 * sin_sigma**2 - 3) * (4 * middle**2 - 3)
    correction = b * sin_sigma * (middle + b / 4 * (cos_sigma * (2 * middle**2 - 1) - last_term))
    return round(minor * a * (sigma - correction), 3)


def _on_a_sphere(one: Position, other: Position) -> float:
    (lat, lon), (to_lat, to_lon) = (map(math.radians, each) for each in (one, other))
    half = math.sin((to_lat - lat) / 2) ** 2 + math.cos(lat) * math.cos(to_lat) * math.sin((to_lon - lon) / 2) ** 2
    return 2 * 6_371_000.0 * math.asin(min(1.0, math.sqrt(half)))


def position_of(attributes: Mapping[str, Any]) -> Position | None:
    """Return the place in the attributes of an entity; None if there is none."""
    found = attributes.get("latitude"), attributes.get("longitude")
    if all(isinstance(each, (int, float)) and math.isfinite(each) for each in found):
        return float(found[0] or 0), float(found[1] or 0)
    return None


def is_within(zone: EntityState, place: Position, accuracy_m: float = 0.0) -> bool:
    """Return whether a place that is known to some metres may lie in a zone."""
    centre = position_of(zone.attributes)
    return centre is not None and distance_m(centre, place) - accuracy_m < zone.attributes["radius"]


def zone_at(zones: Iterable[EntityState], place: Position, accuracy_m: float = 0.0) -> EntityState | None:
    """Return the zone that a place lies in; of several that with the nearest centre, then the smallest radius.

    Passive zones are never found.
    """
    near: list[tuple[float, float, str, EntityState]] = []
    for zone in zones:
        centre = position_of(zone.attributes)
        if centre is None or zone.attributes.get("passive") or zone.state == "unavailable":
            continue
        distance, radius = distance_m(centre, place), zone.attributes["radius"]
        if distance - radius < accuracy_m:
            near.append((distance, radius, zone.entity_id, zone))
    return min(near, key=lambda each: each[:3])[3] if near else None


def place_name(zones: Iterable[EntityState], attributes: Mapping[str, Any]) -> str | None:
    """Return the state of something by its place: `home`, a zone's name or `not_home`; None where that is not known."""
    place, known = position_of(attributes), list(zones)
    if place is None or not known:
        return None
    zone = zone_at(known, place, accuracy_of(attributes))
    if zone is None:
        return NOT_HOME
    return HOME if zone.entity_id == HOME_ZONE else zone.name


def accuracy_of(attributes: Mapping[str, Any]) -> float:
    """Return how well a place is known, in metres."""
    accuracy = attributes.get("gps_accuracy")
    return float(accuracy) if isinstance(accuracy, (int, float)) and accuracy > 0 else 0.0


def is_in_zone(zone: EntityState, state: EntityState) -> bool:
    """Return whether an entity is in a zone by its place.

    Raises:
        LookupError: Its place is not known.
    """
    if state.state in NOT_KNOWN:
        return False
    place = position_of(state.attributes)
    if place is None:
        raise LookupError(state.entity_id)
    return is_within(zone, place, accuracy_of(state.attributes))
