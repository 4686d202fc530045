"""Places and zones: distances along the ground, and which zone a place lies in."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.states import EntityState
from hub.core.zones import Position, distance_m, is_in_zone, place_name


def entity(entity_id: str, state: str = "0", **attributes: Any) -> EntityState:
    return EntityState(entity_id, state, attributes, 0, 0, system_context())


ZONES = [
    entity("zone.home", friendly_name="Elm Street", latitude=52.5, longitude=13.4, radius=100),
    entity("zone.street", friendly_name="Street", latitude=52.5, longitude=13.4, radius=50, passive=True),
    entity("zone.school", friendly_name="School", latitude=52.51, longitude=13.4, radius=300),
    entity("zone.gym", friendly_name="Gym", latitude=52.51, longitude=13.4, radius=80),
    entity("zone.town", friendly_name="Town", latitude=52.511, longitude=13.41, radius=9_000),
]


@pytest.mark.parametrize(
    ("one", "other", "metres"),
    [
        ((52.5, 13.4), (52.5, 13.4), 0),
        ((52.52, 13.405), (48.137, 11.575), 504_612.742),
        ((0, 0), (0, 1), 111_319.491),
        ((90, 0), (-90, 0), 20_003_931.459),
        ((-33.86, 151.2), (51.5, -0.12), 16_987_930.808),
    ],
)
def test_distances_are_those_of_home_assistant(one: Position, other: Position, metres: float) -> None:
    assert distance_m(one, other) == pytest.approx(metres, abs=0.002)


def test_places_that_lie_opposite_each_other_have_a_distance_too() -> None:
    assert 19_900_000 < distance_m((0, 0), (0.5, 179.7)) < 20_010_000


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ({"latitude": 52.5002, "longitude": 13.4}, "home"),
        ({"latitude": 52.51, "longitude": 13.4}, "Gym"),
        ({"latitude": 52.51, "longitude": 13.4021}, "School"),
        ({"latitude": 52.53, "longitude": 13.42}, "Town"),
        ({"latitude": 48, "longitude": 11}, "not_home"),
        ({"latitude": 48, "longitude": 11, "gps_accuracy": 600_000}, "home"),
        ({"latitude": "52.5", "longitude": 13.4}, None),
        ({}, None),
    ],
)
def test_a_place_is_named_by_the_nearest_zone_then_by_the_smallest(place: dict[str, Any], name: str | None) -> None:
    assert place_name(ZONES, place) == name


def test_without_zones_it_is_not_known_where_a_place_is() -> None:
    assert place_name([], {"latitude": 52.5, "longitude": 13.4}) is None


def test_what_says_no_place_is_in_no_zone_and_that_is_told() -> None:
    with pytest.raises(LookupError):
        is_in_zone(ZONES[0], entity("person.ada", "home"))
    assert not is_in_zone(ZONES[0], entity("person.ada", "unknown"))
