"""Persons by their trackers, the zones they are in, and automations that hear of both."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, fire, outside

_ZONES = [
    {"name": "School", "latitude": 52.51, "longitude": 13.4, "radius": 250, "icon": "mdi:school"},
    {"name": "Gym", "latitude": 52.51, "longitude": 13.4, "radius": 60},
    {"name": "Town", "latitude": 52.515, "longitude": 13.41, "radius": 5_000},
    {"name": "Street", "latitude": 52.52, "longitude": 13.405, "radius": 40, "passive": True},
]
_PEOPLE = [
    {"id": "ada", "name": "Ada", "device_trackers": ["device_tracker.phone", "device_tracker.router"]},
    {"id": "bo", "name": "Bo", "device_trackers": ["device_tracker.watch"]},
    {"id": "cy", "name": "Cy"},
]
_PLACES = {
    "home": (52.52, 13.405),
    "edge": (52.5208, 13.405),
    "gym": (52.51, 13.4),
    "school": (52.51, 13.402),
    "town": (52.53, 13.42),
    "away": (48.1, 11.5),
}


def at(tracker: str, state: str, place: str, accuracy: int = 0, **more: Any) -> list[Any]:
    latitude, longitude = _PLACES[place]
    return outside(
        f"device_tracker.{tracker}",
        state,
        source_type="gps",
        latitude=latitude,
        longitude=longitude,
        gps_accuracy=accuracy,
        **more,
    )


def _told(entity: str, kind: str, **trigger: Any) -> dict[str, Any]:
    said = "{{ trigger.entity_id }} {{ trigger.event }} {{ trigger.zone.name }} {{ trigger.to_state.state }}"
    return {
        "alias": kind,
        "mode": "queued",
        "trigger": [{"platform": "zone", "entity_id": entity, **trigger}],
        "action": [
            {"service": "input_text.set_value", "data": {"value": said}, "target": {"entity_id": f"input_text.{kind}"}}
        ],
    }


def _asked(name: str, condition: Any) -> dict[str, Any]:
    return {
        "alias": name,
        "mode": "queued",
        "trigger": [{"platform": "event", "event_type": "look"}],
        "action": [
            {
                "choose": [
                    {
                        "conditions": [condition],
                        "sequence": [
                            {
                                "service": "input_text.set_value",
                                "data": {"entity_id": f"input_text.{name}", "value": "yes"},
                            }
                        ],
                    }
                ],
                "default": [
                    {"service": "input_text.set_value", "data": {"entity_id": f"input_text.{name}", "value": "no"}}
                ],
            }
        ],
    }


_TEMPLATES = {
    "far": "{{ distance('person.bo') | round(3) }}",
    "between": "{{ distance('zone.school', 48.1, 11.5) | round(3) }}",
    "pair": "{{ distance('person.bo', 'zone.town') | round(3) }}",
    "nearest": "{{ closest(states.zone).entity_id }}",
    "nearest_to": "{{ closest('person.bo', states.zone).entity_id }}",
    "nearest_of": "{{ (states.zone | closest(48.0, 11.0)).entity_id }}",
    "nowhere": "{{ distance('person.cy') }} {{ closest('person.cy', states.zone) }}",
    "members": "{{ state_attr('zone.home', 'persons') | join(',') }}",
}
_SAY = [
    {
        "alias": f"say {name}",
        "mode": "queued",
        "trigger": [{"platform": "event", "event_type": "look"}],
        "action": [{"service": "input_text.set_value", "data": {"entity_id": f"input_text.{name}", "value": text}}],
    }
    for name, text in _TEMPLATES.items()
]
_HEARD = ("enters", "leaves", "either")
_CONDITIONS = {
    "in_gym": {"condition": "zone", "entity_id": "person.bo", "zone": "zone.gym"},
    "in_any": {"condition": "zone", "entity_id": "person.bo", "zone": ["zone.gym", "zone.town"]},
    "both_home": {"condition": "zone", "entity_id": ["person.ada", "person.bo"], "zone": "zone.home"},
    "passive": {"condition": "zone", "entity_id": "person.bo", "zone": "zone.street"},
    "is_school": {"condition": "state", "entity_id": "person.bo", "state": ["School", "Gym"]},
}

SCENES: list[dict[str, Any]] = [
    {
        "name": "persons",
        "config": {"zone": _ZONES, "person": _PEOPLE},
        "steps": [
            at("phone", "not_home", "away"),
            advance(1),
            outside("device_tracker.router", "home", source_type="router"),
            advance(1),
            at("phone", "School", "school", 20, battery_level=50),
            advance(1),
            outside("device_tracker.router", "not_home", source_type="router"),
            advance(1),
            at("phone", "Gym", "gym"),
            at("watch", "Gym", "gym", 5),
            advance(1),
            at("watch", "home", "home"),
            outside("device_tracker.phone", "unavailable", source_type="gps"),
            advance(1),
            outside("device_tracker.router", "unknown", source_type="router"),
            at("watch", "somewhere", "away"),
            advance(1),
            at("phone", "home", "edge", 50),
            at("watch", "Town", "town"),
        ],
    },
    {
        "name": "zones heard by automations",
        "config": {
            "zone": _ZONES,
            "person": _PEOPLE,
            "input_text": {name: {"name": name} for name in (*_HEARD, *_CONDITIONS, *_TEMPLATES)},
            "automation": [
                _told("person.bo", "enters", zone="zone.gym"),
                _told("person.bo", "leaves", zone="zone.school", event="leave"),
                _told("device_tracker.watch", "either", zone="zone.town", event="enter"),
                *(_asked(name, condition) for name, condition in _CONDITIONS.items()),
                *_SAY,
            ],
        },
        "watch": ["person.", "zone.", "input_text."],
        "steps": [
            step
            for moved in (
                at("watch", "not_home", "away"),
                at("watch", "Gym", "gym"),
                at("watch", "School", "school"),
                at("watch", "home", "home"),
                at("watch", "Town", "town"),
                at("watch", "Town", "edge"),
                at("watch", "home", "edge", 200),
                at("watch", "home", "town", 9_000),
                outside("device_tracker.watch", "home", source_type="router"),
                outside("device_tracker.watch", "unavailable", source_type="gps"),
                at("watch", "Gym", "gym", 100),
            )
            for step in (moved, fire("look"))
        ],
    },
]
