"""Components that a table describes: what they read, what they publish, and Home Assistant's defaults for both.

Source: the pages of https://www.home-assistant.io/integrations/mqtt/ for each of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from integrations.devices.mqtt.discovery.family import (
    NONE,
    STATE,
    Config,
    Family,
    TopicReading,
    TopicWriting,
    json_object,
    number,
    on_off,
    one_of,
    read_known,
    setting,
    table,
    words,
)

_chosen = one_of("options")
VALUE, STATE_VALUE = "value_template", "state_value_template"
ON = TopicWriting("turn_on", payload=("payload_on", "ON"), into=STATE, shown="on")
OFF = TopicWriting("turn_off", payload=("payload_off", "OFF"), into=STATE, shown="off")


def _bounded(value: str, config: Config) -> Any:
    if value == config.get("payload_reset", NONE):
        return None
    found = number(value, config)
    if found is not None and not float(config.get("min", 1)) <= found <= float(config.get("max", 100)):
        raise ValueError(f"{found} is out of range")
    return found


def _tracked(value: str, config: Config) -> Any:
    if value == config.get("payload_reset", NONE):
        return None  # its place says it
    places = {"home": ("payload_home", "home"), "not_home": ("payload_not_home", "not_home")}
    try:
        return words(places)(value, config)
    except ValueError:
        return value  # the name of a place


def _sensed(value: str, config: Config) -> Any:
    """Read a sensor; timestamps are normalised to UTC and days to dates, however the device writes them."""
    if value == NONE or config.get("device_class") not in ("timestamp", "date"):
        return _chosen(value, config)
    said = datetime.fromisoformat(value)
    if config["device_class"] == "date":
        return said.date().isoformat()
    if said.tzinfo is None:
        raise ValueError("expected a timestamp with a time zone, such as 2026-05-01T07:00:00+00:00")
    return said.astimezone(UTC).isoformat()


def _event(entity: Any, value: str) -> None:
    said = json_object(value)
    type = said.pop("event_type")
    if not isinstance(type, str) or type not in entity.config.get("event_types", ()):
        raise ValueError("the event has no event_type of event_types")
    entity.attributes = {"event_type": type, **dict(list(said.items())[:50])}
    entity.set(STATE, entity.parts.host.clock.now().isoformat(timespec="milliseconds"))


_UPDATE_WORDS = ("installed_version", "latest_version", "title", "release_summary", "release_url", "entity_picture")


def _update(entity: Any, value: str) -> None:
    said = json_object(value, "installed_version")
    for key in (*_UPDATE_WORDS, "in_progress", "update_percentage"):
        if key in said:
            is_word = key in _UPDATE_WORDS and said[key] is not None
            entity.set(key, str(said[key])[:255] if is_word else said[key])
    _judge_update(entity)


def _latest(entity: Any, value: str) -> None:
    entity.set("latest_version", value)
    _judge_update(entity)


def _judge_update(entity: Any) -> None:
    installed, latest = (entity.attributes.get(key) for key in ("installed_version", "latest_version"))
    if installed and latest:
        entity.set(STATE, "off" if installed == latest else "on")


def _vacuum(entity: Any, value: str) -> None:
    said = json_object(value)
    for key, into in (("state", STATE), ("fan_speed", "fan_speed"), ("battery_level", "battery_level")):
        if key in said:
            entity.set(into, said[key] if into == "battery_level" else str(said[key]))


def _speeds(config: Config) -> tuple[int, int]:
    return int(config.get("speed_range_min", 1)), int(config.get("speed_range_max", 100))


def _scaled_speed(value: Any, config: Config) -> int:
    low, high = _speeds(config)
    return 0 if not value else max(low, round(low - 1 + float(value) / 100 * (high - low + 1)))


def _percentage(value: str, config: Config) -> Any:
    if value in (NONE, config.get("payload_reset_percentage", NONE)):
        return None
    low, high = _speeds(config)
    return max(0, min(100, round((float(value) - low + 1) / (high - low + 1) * 100)))


_OSCILLATING = {
    "on": ("payload_oscillation_on", "oscillate_on"),
    "off": ("payload_oscillation_off", "oscillate_off"),
}


def _binary(entity: Any, value: str) -> None:
    entity.set(STATE, on_off(value, entity.config))
    delay = entity.config.get("off_delay")
    if delay and entity.state == "on":

        def off() -> None:
            entity.set(STATE, "off")
            entity.show()

        entity.after(float(delay), off)


def _siren(entity: Any, value: str) -> None:
    said = json_object(value, "state")
    if "state" in said:
        entity.set(STATE, on_off(str(said["state"]), entity.config))
    for key in ("tone", "volume_level", "duration"):
        if key in said:
            entity.set(key, said[key])


def _verbs(*names: str, upper: bool = False) -> tuple[TopicWriting, ...]:
    return tuple(TopicWriting(each, payload=(f"payload_{each}", each.upper() if upper else each)) for each in names)


def _same(*keys: str, **defaults: Any) -> dict[str, tuple[str, Any]]:
    """Return attributes that are called as the keys they come from."""
    return {key: (key, default) for key, default in {**dict.fromkeys(keys), **defaults}.items()}


TARGET_HUMIDITY = setting("target_humidity", into="humidity", service="set_humidity", read=number)
_LOCKED = {
    state: (f"state_{state}", state.upper()) for state in ("locked", "unlocked", "locking", "unlocking", "jammed")
}
_ARM_MODES = ("home", "away", "night", "vacation", "custom_bypass")
_ARMED = (*("disarmed", "arming", "pending", "triggered", "disarming"), *(f"armed_{each}" for each in _ARM_MODES))
_ALARM_SERVICES = ("disarm", "trigger", *(f"arm_{each}" for each in _ARM_MODES))
_SET = TopicWriting("set_value", field="value", into=STATE)
_ACTIVITY = TopicReading("activity_state_topic", "activity_value_template", convert=read_known)

SIMPLE: dict[str, Family] = {
    "sensor": Family(
        (TopicReading("state_topic", VALUE, convert=_sensed),), attributes=_same("state_class", "options")
    ),
    "binary_sensor": Family((TopicReading("state_topic", VALUE, take=_binary),)),
    "switch": Family((TopicReading("state_topic", VALUE, convert=on_off),), (ON, OFF)),
    "button": Family((), _verbs("press", upper=True)),
    "notify": Family((), (TopicWriting("send_message", field="message"),)),
    "scene": Family((), (TopicWriting("turn_on", payload=("payload_on", "ON")),)),
    "number": Family(
        (TopicReading("state_topic", VALUE, convert=_bounded),), (_SET,), _same(min=1, max=100, step=1, mode="auto")
    ),
    "select": Family(
        (TopicReading("state_topic", VALUE, convert=one_of("options")),),
        (TopicWriting("select_option", field="option", into=STATE),),
        _same(options=[]),
    ),
    "text": Family((TopicReading("state_topic", VALUE),), (_SET,), _same("pattern", min=0, max=255, mode="text")),
    "lock": Family(
        (TopicReading("state_topic", VALUE, convert=words(_LOCKED)),),
        (
            TopicWriting("lock", payload=("payload_lock", "LOCK"), into=STATE, shown="locked"),
            TopicWriting("unlock", payload=("payload_unlock", "UNLOCK"), into=STATE, shown="unlocked"),
            TopicWriting("open", payload=("payload_open", None), into=STATE, shown="unlocked"),
        ),
        _same("code_format"),
    ),
    "event": Family((TopicReading("state_topic", VALUE, take=_event),), attributes=_same(event_types=[])),
    "update": Family(
        (
            TopicReading("state_topic", VALUE, take=_update),
            TopicReading("latest_version_topic", "latest_version_template", take=_latest),
        ),
        (TopicWriting("install", payload=("payload_install", None)),),
        _same("title", "release_url", "release_summary"),
    ),
    "camera": Family((TopicReading("topic", VALUE),), large=True),
    "image": Family(
        (
            TopicReading("image_topic", VALUE),
            TopicReading("url_topic", "url_template", take=lambda entity, value: entity.take_picture_url(value)),
        ),
        large=True,
    ),
    "device_tracker": Family(
        (TopicReading("state_topic", VALUE, convert=_tracked),), attributes=_same(source_type="gps")
    ),
    "alarm_control_panel": Family(
        (TopicReading("state_topic", VALUE, convert=words({each: ("", each) for each in _ARMED})),),
        tuple(TopicWriting(f"alarm_{each}", payload=(f"payload_{each}", each.upper())) for each in _ALARM_SERVICES),
        _same(code_arm_required=True),
    ),
    "vacuum": Family(
        (TopicReading("state_topic", VALUE, take=_vacuum),),
        (
            *_verbs("start", "pause", "stop", "return_to_base", "locate", "clean_spot"),
            TopicWriting("set_fan_speed", "set_fan_speed_topic", field="fan_speed"),
            TopicWriting("send_command", "send_command_topic", field="command"),
        ),
        _same("fan_speed_list"),
    ),
    "lawn_mower": Family(
        (_ACTIVITY,),
        tuple(
            TopicWriting(each, f"{each}_command_topic", f"{each}_command_template", payload=(f"payload_{each}", each))
            for each in ("start_mowing", "pause", "dock")
        ),
    ),
    "siren": Family(
        (TopicReading("state_topic", STATE_VALUE, take=_siren),),
        (ON, replace(OFF, template="command_off_template")),
        _same("available_tones"),
    ),
    "fan": table(
        (TopicReading("state_topic", STATE_VALUE, convert=on_off),),
        (
            setting("percentage", template=VALUE, read=_percentage, sent=_scaled_speed),
            setting(
                "oscillation",
                into="oscillating",
                service="oscillate",
                field="oscillating",
                template=VALUE,
                read=lambda value, config: words(_OSCILLATING)(value, config) == "on",
                sent=lambda value, config: config.get(*_OSCILLATING["on" if value else "off"]),
            ),
            setting("direction", template=VALUE),
            setting("preset_mode", template=VALUE),
        ),
        (ON, OFF),
        _same("preset_modes"),
    ),
    "humidifier": table(
        (
            TopicReading("state_topic", STATE_VALUE, convert=on_off),
            TopicReading("current_humidity_topic", "current_humidity_template", "current_humidity", number),
            TopicReading("action_topic", "action_template", "action"),
        ),
        (TARGET_HUMIDITY, setting("mode")),
        (ON, OFF),
        {"available_modes": ("modes", None), **_same(min_humidity=0, max_humidity=100)},
    ),
}
