"""Schedules, the sun, zones, groups and scenes."""

from __future__ import annotations

from typing import Any

from tests.entities.helpers.questions.steps import advance, call, outside, reload, restart

_SCHEDULE = {
    "work": {
        "name": "Work",
        "monday": [{"from": "08:00:00", "to": "12:00:00"}, {"from": "13:00:00", "to": "17:00:00"}],
        "friday": [{"from": "08:00:00", "to": "24:00:00", "data": {"mode": "short", "level": 3}}],
        "saturday": [{"from": "00:00:00", "to": "01:00:00"}],
    },
    "never": {"name": "Never", "icon": "mdi:clock"},
}
_ZONES = [
    {"name": "School", "latitude": 52.5, "longitude": 13.4, "radius": 250, "icon": "mdi:school"},
    {"name": "Far away", "latitude": 48.1, "longitude": 11.5, "passive": True},
]
_MEMBERS = [
    outside("light.a", "off"),
    outside("light.b", "off"),
    outside("switch.c", "on"),
    outside("cover.d", "closed"),
    outside("person.ada", "home"),
    outside("person.bo", "not_home"),
    outside("lock.e", "locked"),
    outside("sensor.f", "21.5", unit_of_measurement="°C", device_class="temperature"),
    outside("media_player.g", "off"),
    outside("binary_sensor.h", "off"),
]
_GROUPS = {
    "lights": {"name": "Lights", "entities": ["light.a", "light.b"], "icon": "mdi:lamp"},
    "every": {"entities": ["light.a", "light.b"], "all": True},
    "people": "person.ada, person.bo",
    "mixed": ["light.a", "cover.d"],
    "covers": {"entities": ["cover.d"]},
    "locks": {"entities": ["lock.e"]},
    "sensors": {"entities": ["sensor.f"]},
    "nested": {"entities": ["group.lights", "switch.c"]},
    "gone": {"entities": ["light.gone"]},
    "some_gone": {"entities": ["light.gone", "binary_sensor.h"]},
    "players": {"entities": ["media_player.g", "binary_sensor.h"]},
    "helpers": {"entities": ["input_boolean.one", "input_boolean.two"]},
    "empty": {"entities": []},
}
_GROUPED = {"group": _GROUPS, "input_boolean": {"one": None, "two": None}}

SCENES: list[dict[str, Any]] = [
    {
        "name": "schedule",
        "config": {"schedule": _SCHEDULE},
        "steps": [
            advance(2 * 3600 - 1),
            advance(1),
            advance(3600),
            advance(4 * 3600),
            restart(3 * 86_400),
            advance(16 * 3600),
            advance(15 * 3600),
            advance(3 * 3600),
            restart(13 * 86_400),
            restart(7 * 86_400),
            reload({"schedule": {"work": {"name": "Work", "sunday": [{"from": "00:00:00", "to": "24:00:00"}]}}}),
        ],
    },
    {
        "name": "sun",
        "config": {"sun": {}},
        "watch": ["sun.sun"],
        "steps": [restart(each * 3600) for each in (2, 3, 4, 5, 6, 24 * 27, 24 * 90, 7)],
    },
    {
        "name": "zone",
        "config": {"zone": _ZONES},
        "first": [outside("person.ada", "home"), outside("person.bo", "not_home")],
        "steps": [
            outside("person.ada", "School"),
            outside("person.bo", "school"),
            outside("person.bo", "home"),
            outside("person.ada", "Far away"),
            outside("person.ada", "unknown"),
            outside("person.cy", "home"),
        ],
    },
    {
        "name": "group",
        "config": _GROUPED,
        "watch": ["group.", "input_boolean."],
        "first": _MEMBERS,
        "steps": [
            outside("light.a", "on"),
            outside("light.b", "on"),
            outside("light.a", "unavailable"),
            outside("light.b", "off"),
            outside("cover.d", "open"),
            outside("cover.d", "opening"),
            outside("person.ada", "not_home"),
            outside("person.bo", "School"),
            outside("person.bo", "home"),
            outside("lock.e", "unlocked"),
            outside("lock.e", "jammed"),
            outside("switch.c", "off"),
            outside("media_player.g", "playing"),
            outside("binary_sensor.h", "on"),
            outside("light.gone", "on"),
            call("homeassistant.turn_on", entity_id="group.helpers"),
            call("input_boolean.turn_off", entity_id="group.helpers"),
            call("homeassistant.toggle", entity_id=["group.helpers", "input_boolean.one"]),
            call("group.set", object_id="made", name="Made", entities=["light.a", "light.b"]),
            call("group.set", object_id="made", add_entities=["switch.c"]),
            call("group.set", object_id="made", remove_entities=["light.a"], icon="mdi:star"),
            call("group.set", object_id="made", all=True, entities=["light.a", "switch.c"]),
            call("group.remove", object_id="made"),
        ],
    },
]
_SCENES = [
    {
        "id": "evening",
        "name": "Evening",
        "icon": "mdi:moon",
        "entities": {
            "input_boolean.one": "on",
            "input_boolean.two": {"state": "off"},
            "input_number.level": "7",
            "input_select.mode": "Night",
        },
    },
    {
        "name": "Over",
        "entities": {"input_boolean.one": "off", "input_text.note": "all off", "input_boolean.gone": "on"},
    },
]
SCENES += [
    {
        "name": "scene",
        "config": {
            "input_boolean": {"one": None, "two": {"initial": True}},
            "input_number": {"level": {"min": 0, "max": 10}},
            "input_select": {"mode": {"options": ["Day", "Night"]}},
            "input_text": {"note": None},
            "scene": _SCENES,
        },
        "steps": [
            call("scene.turn_on", entity_id="scene.evening"),
            advance(5),
            call("scene.turn_on", entity_id="scene.over"),
            call("scene.create", scene_id="before", snapshot_entities=["input_boolean.one", "input_number.level"]),
            call("scene.turn_on", entity_id="scene.evening"),
            call("scene.turn_on", entity_id="scene.before"),
            call("scene.apply", entities={"input_boolean.two": "on", "input_number.level": {"state": "3.5"}}),
            call("scene.create", scene_id="before", entities={"input_boolean.two": "off"}),
            call("scene.turn_on", entity_id="scene.before"),
            call("homeassistant.turn_on", entity_id="scene.evening"),
            call("scene.delete", entity_id="scene.before"),
            call("scene.delete", entity_id="scene.evening"),
            restart(),
        ],
    },
]
