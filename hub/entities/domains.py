"""The services of each domain of entities and the data they take, under Home Assistant's names.

Source: the developer documentation of its entities, and the descriptions of its services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.schema import (
    All,
    Coerce,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    as_list,
    boolean,
    number,
    numeric,
    show,
    string,
)
from hub.entities import calendar, todo
from hub.entities.helpers.table import HELPERS

TARGET_KEYS = ("entity_id", "device_id", "area_id", "floor_id", "label_id")

Fields = Mapping[Any, Any]
Services = Mapping[str, Fields]

FILM_LIMIT_S = 300
_PERCENT = All(number, Range(min=0, max=100))
_BYTE = All(number, Coerce(round), Range(min=0, max=255))
_TEXT = All(string, Length(max=1_000))
_NAME = All(string, Length(min=1, max=255))
_NAMES = All(as_list, [_NAME], Length(max=100))
_SECONDS = All(number, Range(min=0, max=86_400))
_NONE: Fields = {}
_CODE: Fields = {Optional("code"): _TEXT}


def _decimal(value: Any) -> str:
    """Accept a number, and keep it as it is written."""
    numeric(value)
    return str(string(value)).strip()


_DECIMAL = Described(_decimal, {"type": ["number", "string"]}, "number")


def _numbers(count: int, low: float, high: float) -> Any:
    def check(value: Any) -> tuple[float, ...]:
        found = tuple(value) if isinstance(value, list | tuple) else ()
        if len(found) != count:
            raise Invalid(f"expected {count} numbers, got {show(value)}")
        if not all(low <= number(each) <= high for each in found):
            raise Invalid(f"expected numbers from {low:g} to {high:g}, got {show(value)}")
        return found

    item = {"type": "number", "minimum": low, "maximum": high}
    return Described(check, {"type": "array", "items": item, "minItems": count, "maxItems": count}, "numbers")


FORECASTS = ("daily", "twice_daily", "hourly")
_ON_OFF: Services = {"turn_on": _NONE, "turn_off": _NONE, "toggle": _NONE}
_OPEN_CLOSE = ("open", "close", "stop")
_FADE: Fields = {Optional("transition"): _SECONDS, Optional("flash"): In(("short", "long"))}
_LIGHT: Fields = {
    **_FADE,
    Optional("brightness"): _BYTE,
    Optional("brightness_pct"): _PERCENT,
    Optional("brightness_step"): All(number, Range(min=-255, max=255)),
    Optional("brightness_step_pct"): All(number, Range(min=-100, max=100)),
    Optional("color_temp_kelvin"): All(number, Coerce(round), Range(min=1_000, max=40_000)),
    Optional("kelvin"): All(number, Coerce(round), Range(min=1_000, max=40_000)),
    Optional("color_temp"): All(number, Range(min=25, max=1_000)),
    Optional("color_name"): _NAME,
    Optional("rgb_color"): _numbers(3, 0, 255),
    Optional("rgbw_color"): _numbers(4, 0, 255),
    Optional("rgbww_color"): _numbers(5, 0, 255),
    Optional("hs_color"): _numbers(2, 0, 360),
    Optional("xy_color"): _numbers(2, 0, 1),
    Optional("white"): _BYTE,
    Optional("effect"): _NAME,
}
_COVER: Services = {
    **{f"{verb}_cover": _NONE for verb in _OPEN_CLOSE},
    **{f"{verb}_cover_tilt": _NONE for verb in _OPEN_CLOSE},
    "toggle": _NONE,
    "toggle_cover_tilt": _NONE,
    "set_cover_position": {Required("position"): _PERCENT},
    "set_cover_tilt_position": {Required("tilt_position"): _PERCENT},
}
_FAN_ON: Fields = {Optional("percentage"): _PERCENT, Optional("preset_mode"): _NAME}
_SELECT: Services = {
    "select_option": {Required("option"): _NAME},
    "select_first": _NONE,
    "select_last": _NONE,
    "select_next": {Optional("cycle", default=True): boolean},
    "select_previous": {Optional("cycle", default=True): boolean},
}
_PLAY: Services = {
    f"media_{verb}": _NONE for verb in ("play", "pause", "play_pause", "stop", "next_track", "previous_track")
}
_MEDIA = ("media_content_id", "media_content_type")
_WHAT: Fields = {Optional(each): _TEXT for each in _MEDIA}
_ENQUEUE = {True: "add", False: "play"}
"""What `enqueue` meant before it had words."""
_FILE: Fields = {Required("filename", description="In the folder media or www of the home."): _NAME}


def _media(value: Any) -> Any:
    """Return the data of `play_media` with what was picked (`media: {media_content_id: …}`) as plain keys."""
    if not isinstance(value, dict):
        return value
    picked = value.get("media")
    if not isinstance(picked, dict):
        return value
    if both := [each for each in _MEDIA if each in value]:
        raise Invalid(f"expected either media or {both[0]}")
    kept = {each: picked[each] for each in _MEDIA if each in picked}
    return {**{key: each for key, each in value.items() if key != "media"}, **kept}


def _color(value: Any) -> Any:
    """Return the data of a light with a colour that was named as its numbers."""
    if not isinstance(value, dict) or "color_name" not in value:
        return value
    from hub.entities.colors import with_color

    return with_color(value)


def _enqueue(value: Any) -> str:
    words = ("add", "next", "play", "replace")
    chosen = _ENQUEUE[value] if isinstance(value, bool) else value
    if chosen not in words:
        raise Invalid(f"expected one of {', '.join(words)}, got {show(value)}")
    return str(chosen)


DOMAINS: Mapping[str, Services] = {
    "alarm_control_panel": {
        **{f"alarm_arm_{mode}": _CODE for mode in ("home", "away", "night", "vacation", "custom_bypass")},
        "alarm_disarm": _CODE,
        "alarm_trigger": _CODE,
    },
    "button": {"press": _NONE},
    "calendar": {
        "get_events": calendar.GET_EVENTS,
        "create_event": calendar.CREATE,
        "update_event": calendar.UPDATE,
        "delete_event": calendar.DELETE,
    },
    "camera": {
        **{f"{verb}_motion_detection": _NONE for verb in ("enable", "disable")},
        "turn_on": _NONE,
        "turn_off": _NONE,
        "snapshot": _FILE,
        "record": {
            **_FILE,
            Optional("duration", default=30): All(number, Range(min=1, max=FILM_LIMIT_S)),
        },
        "play_stream": {Required("media_player"): _NAMES, Optional("format", default="hls"): In(("hls",))},
    },
    "climate": {
        **_ON_OFF,
        "set_temperature": {
            Optional("temperature"): number,
            Optional("target_temp_high"): number,
            Optional("target_temp_low"): number,
            Optional("hvac_mode"): _NAME,
        },
        "set_hvac_mode": {Required("hvac_mode"): _NAME},
        "set_preset_mode": {Required("preset_mode"): _NAME},
        "set_fan_mode": {Required("fan_mode"): _NAME},
        "set_swing_mode": {Required("swing_mode"): _NAME},
        "set_humidity": {Required("humidity"): _PERCENT},
    },
    "cover": _COVER,
    "date": {"set_value": {Required("date"): _NAME}},
    "datetime": {"set_value": {Required("datetime"): _NAME}},
    "fan": {
        "turn_on": _FAN_ON,
        "turn_off": _NONE,
        "toggle": _NONE,
        "set_percentage": {Required("percentage"): _PERCENT},
        "increase_speed": {Optional("percentage_step"): _PERCENT},
        "decrease_speed": {Optional("percentage_step"): _PERCENT},
        "set_preset_mode": {Required("preset_mode"): _NAME},
        "set_direction": {Required("direction"): In(("forward", "reverse"))},
        "oscillate": {Required("oscillating"): boolean},
    },
    "humidifier": {
        **_ON_OFF,
        "set_humidity": {Required("humidity"): _PERCENT},
        "set_mode": {Required("mode"): _NAME},
    },
    "lawn_mower": {"start_mowing": _NONE, "pause": _NONE, "dock": _NONE},
    "light": {
        "turn_on": _LIGHT,
        "turn_off": _FADE,
        "toggle": _LIGHT,
    },
    "lock": {"lock": _CODE, "unlock": _CODE, "open": _CODE},
    "media_player": {
        **_ON_OFF,
        **_PLAY,
        "volume_up": _NONE,
        "volume_down": _NONE,
        "volume_set": {Required("volume_level"): All(Coerce(float), Range(min=0, max=1))},
        "volume_mute": {Required("is_volume_muted"): boolean},
        "select_source": {Required("source"): _NAME},
        "select_sound_mode": {Required("sound_mode"): _NAME},
        "media_seek": {Required("seek_position"): All(Coerce(float), Range(min=0))},
        "shuffle_set": {Required("shuffle"): boolean},
        "repeat_set": {Required("repeat"): In(("off", "all", "one"))},
        "clear_playlist": _NONE,
        "join": {Required("group_members"): _NAMES},
        "unjoin": _NONE,
        "play_media": {
            Required("media_content_id"): _TEXT,
            Required("media_content_type"): _NAME,
            Optional("enqueue"): Described(_enqueue, {"enum": ["add", "next", "play", "replace"]}, "word"),
            Optional("announce"): boolean,
            Optional("extra"): dict,
        },
        "browse_media": _WHAT,
        "search_media": {
            Required("search_query"): _TEXT,
            Optional("media_filter_classes"): All(as_list, [_NAME], Length(max=30)),
            **_WHAT,
        },
    },
    "notify": {"send_message": {Required("message"): _TEXT, Optional("title"): _NAME}},
    "number": {"set_value": {Required("value"): number}},
    "remote": {
        **_ON_OFF,
        "send_command": {
            Required("command"): All(as_list, [_NAME], Length(max=50)),
            Optional("device"): _NAME,
            Optional("num_repeats"): All(number, Coerce(int), Range(min=1, max=50)),
            Optional("delay_secs"): _SECONDS,
        },
    },
    "select": _SELECT,
    "siren": {
        "turn_on": {
            Optional("tone"): _NAME,
            Optional("duration"): _SECONDS,
            Optional("volume_level"): All(number, Range(min=0, max=1)),
        },
        "turn_off": _NONE,
        "toggle": _NONE,
    },
    "switch": _ON_OFF,
    "text": {"set_value": {Required("value"): _TEXT}},
    "time": {"set_value": {Required("time"): _NAME}},
    "todo": todo.SERVICES,
    "tts": {
        "speak": {
            Required("media_player_entity_id"): _NAMES,
            Required("message"): All(string, Length(min=1, max=4_000)),
            Optional("cache", default=True): boolean,
            Optional("language"): _NAME,
            Optional("options", default=dict): dict,
        }
    },
    "update": {
        "install": {Optional("version"): _NAME, Optional("backup"): boolean},
        "skip": _NONE,
        "clear_skipped": _NONE,
    },
    "utility_meter": {"calibrate": {Required("value"): _DECIMAL}, "reset": _NONE},
    "vacuum": {
        **dict.fromkeys(("start", "pause", "stop", "return_to_base", "locate", "clean_spot"), _NONE),
        "set_fan_speed": {Required("fan_speed"): _NAME},
        "send_command": {Required("command"): _NAME, Optional("params"): dict},
    },
    "valve": {
        **{f"{verb}_valve": _NONE for verb in _OPEN_CLOSE},
        "toggle": _NONE,
        "set_valve_position": {Required("position"): _PERCENT},
    },
    "water_heater": {
        "turn_on": _NONE,
        "turn_off": _NONE,
        "set_temperature": {Required("temperature"): number, Optional("operation_mode"): _NAME},
        "set_operation_mode": {Required("operation_mode"): _NAME},
        "set_away_mode": {Required("away_mode"): boolean},
    },
    "weather": {"get_forecasts": {Required("type", description="Of days, halves of days, or hours."): In(FORECASTS)}},
    **{kind.domain: {name: each.fields for name, each in kind.services.items()} for kind in HELPERS.values()},
}
"""Services by domain, with the fields of their data beside the target."""

ANSWERING = frozenset(
    {
        *(
            ("calendar", "get_events"),
            ("schedule", "get_schedule"),
            ("todo", "get_items"),
            ("weather", "get_forecasts"),
        ),
        *(("media_player", "browse_media"), ("media_player", "search_media")),
    }
)
"""Services that only return data: that of each entity, by its id."""

BEFORE: Mapping[str, Callable[[Any], Any]] = {
    "media_player.play_media": _media,
    **dict.fromkeys(("light.turn_on", "light.toggle"), _color),
}
"""How the data of a service is rewritten before it is checked."""
OF_DOMAINS: Mapping[str, tuple[str, ...]] = {"utility_meter": ("sensor", "select")}
"""By the domain of services: the domains of the entities they are for, where these are others."""

GENERIC = ("turn_on", "turn_off", "toggle")
"""Services of `homeassistant`, which do what the domain of each entity has under that name."""

WITHIN: Mapping[tuple[str, str], tuple[str, str]] = {
    ("number", "value"): ("min", "max"),
    ("input_number", "value"): ("min", "max"),
    ("climate", "temperature"): ("min_temp", "max_temp"),
    ("climate", "target_temp_low"): ("min_temp", "max_temp"),
    ("climate", "target_temp_high"): ("min_temp", "max_temp"),
    ("climate", "humidity"): ("min_humidity", "max_humidity"),
    ("humidifier", "humidity"): ("min_humidity", "max_humidity"),
    ("water_heater", "temperature"): ("min_temp", "max_temp"),
    ("light", "color_temp_kelvin"): ("min_color_temp_kelvin", "max_color_temp_kelvin"),
}
"""Numbers that lie between two attributes of the entity, when it has them."""

ONE_OF: Mapping[str, str] = {
    "option": "options",
    "effect": "effect_list",
    "preset_mode": "preset_modes",
    "hvac_mode": "hvac_modes",
    "fan_mode": "fan_modes",
    "swing_mode": "swing_modes",
    "mode": "available_modes",
    "fan_speed": "fan_speed_list",
    "tone": "available_tones",
    "source": "source_list",
    "sound_mode": "sound_mode_list",
    "operation_mode": "operation_list",
}
"""Words that are among those of an attribute of the entity, when it has it."""
