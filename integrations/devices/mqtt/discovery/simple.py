"""Components that a table describes: what they read, what they publish, and Home Assistant's defaults for both.

Source: the pages of https://www.home-assistant.io/integrations/mqtt/ for each of them.
"""

from __future__ import annotations

from typing import Any

from integrations.devices.mqtt.discovery.family import (
    NONE,
    STATE,
    Config,
    Family,
    TopicReading,
    TopicWriting,
    number,
    on_off,
    one_of,
    words,
)

VALUE, COMMAND = "value_template", "command_template"
ON = TopicWriting("turn_on", payload=("payload_on", "ON"), into=STATE, shown="on")
OFF = TopicWriting("turn_off", payload=("payload_off", "OFF"), into=STATE, shown="off")
_STATE = TopicReading("state_topic", VALUE)


def _sensor(value: str, config: Config) -> str | None:
    options = config.get("options")
    if value == NONE:
        return None
    if options and value not in options:
        raise ValueError(f"{value[:50]!r} is none of the options")
    return value


def _bounded(value: str, config: Config) -> Any:
    if value == config.get("payload_reset", NONE):
        return None
    found = number(value, config)
    if found is not None and not float(config.get("min", 1)) <= found <= float(config.get("max", 100)):
        raise ValueError(f"{found} is out of range")
    return found


def _tracked(value: str, config: Config) -> str | None:
    table = {"home": ("payload_home", "home"), "not_home": ("payload_not_home", "not_home")}
    try:
        return words(table)(value, config)  # type: ignore[no-any-return]
    except ValueError:
        return value  # the name of a place


def _event(entity: Any, value: str) -> None:
    import json

    said = json.loads(value)
    type = said.pop("event_type") if isinstance(said, dict) else None
    if not isinstance(type, str) or type not in entity.config.get("event_types", ()):
        raise ValueError("the event has no event_type of event_types")
    entity.attributes = {"event_type": type, **dict(list(said.items())[:50])}
    entity.set(STATE, entity.parts.host.clock.now().isoformat(timespec="milliseconds"))


def _update(entity: Any, value: str) -> None:
    import json

    try:
        said = json.loads(value)
    except ValueError:
        said = value
    if not isinstance(said, dict):
        said = {"installed_version": value}
    keys = ("installed_version", "latest_version", "title", "release_summary", "release_url", "entity_picture")
    for key in (*keys, "in_progress", "update_percentage"):
        if key in said:
            entity.set(key, said[key] if isinstance(said[key], bool | int | None) else str(said[key])[:255])
    _judge_update(entity)


def _latest(entity: Any, value: str) -> None:
    entity.set("latest_version", value)
    _judge_update(entity)


def _judge_update(entity: Any) -> None:
    installed, latest = (entity.attributes.get(key) for key in ("installed_version", "latest_version"))
    if installed and latest:
        entity.set(STATE, "off" if installed == latest else "on")


def _vacuum(entity: Any, value: str) -> None:
    import json

    said = json.loads(value)
    if not isinstance(said, dict):
        raise ValueError("the state of a vacuum is JSON")
    for key, into in (("state", STATE), ("fan_speed", "fan_speed"), ("battery_level", "battery_level")):
        if key in said:
            entity.set(into, said[key] if into == "battery_level" else str(said[key]))


def _scaled_speed(value: Any, config: Config) -> int:
    low, high = int(config.get("speed_range_min", 1)), int(config.get("speed_range_max", 100))
    return 0 if not value else max(low, round(low - 1 + float(value) / 100 * (high - low + 1)))


def _percentage(value: str, config: Config) -> Any:
    if value in (NONE, config.get("payload_reset_percentage", NONE)):
        return None
    low, high = int(config.get("speed_range_min", 1)), int(config.get("speed_range_max", 100))
    return max(0, min(100, round((float(value) - low + 1) / (high - low + 1) * 100)))


def _oscillating(value: str, config: Config) -> bool:
    return bool(
        words({"on": ("payload_oscillation_on", "oscillate_on"), "off": _NOT_OSCILLATING})(value, config) == "on"
    )


def _oscillate(value: Any, config: Config) -> Any:
    key, default = ("payload_oscillation_on", "oscillate_on") if value else _NOT_OSCILLATING
    return config.get(key, default)


_NOT_OSCILLATING = ("payload_oscillation_off", "oscillate_off")


def mode(
    name: str, *, into: str = "", value: str = "state_template", service: str = ""
) -> tuple[TopicReading, TopicWriting]:
    """Return how a mode is read and written: `fan_mode`, `preset_mode`, …"""
    into = into or name
    state = f"{name}_state_topic"
    field = (service or f"set_{name}").removeprefix("set_")
    return (
        TopicReading(state, f"{name}_{value}", into, lambda text, _: None if text == NONE else text),
        TopicWriting(
            service or f"set_{name}", f"{name}_command_topic", f"{name}_command_template", field, into=into, state=state
        ),
    )


_FAN_PRESET = mode("preset_mode", value=VALUE)
_HUMIDIFIER_MODE = mode("mode")
_LOCKED = {
    "locked": ("state_locked", "LOCKED"),
    "unlocked": ("state_unlocked", "UNLOCKED"),
    "locking": ("state_locking", "LOCKING"),
    "unlocking": ("state_unlocking", "UNLOCKING"),
    "jammed": ("state_jammed", "JAMMED"),
}
_ARM_MODES = ("home", "away", "night", "vacation", "custom_bypass")
_ARMED = (*("disarmed", "arming", "pending", "triggered", "disarming"), *(f"armed_{each}" for each in _ARM_MODES))
_ALARM_SERVICES = {
    "alarm_disarm": "DISARM",
    "alarm_trigger": "TRIGGER",
    **{f"alarm_arm_{each}": f"ARM_{each.upper()}" for each in _ARM_MODES},
}


def _armed(value: str, _: Config) -> str | None:
    if value == NONE:
        return None
    if value not in _ARMED:
        raise ValueError(f"{value[:50]!r} is no state of an alarm")
    return value


def _binary(entity: Any, value: str) -> None:
    entity.set(STATE, on_off(value, entity.config))
    delay = entity.config.get("off_delay")
    if delay and entity.state == "on":

        def off() -> None:
            entity.set(STATE, "off")
            entity.show()

        entity.after(float(delay), off)


def _siren(entity: Any, value: str) -> None:
    import json

    try:
        said = json.loads(value)
    except ValueError:
        said = value
    found = said if isinstance(said, dict) else {"state": value}
    if "state" in found:
        entity.set(STATE, on_off(str(found["state"]), entity.config))
    for key in ("tone", "volume_level", "duration"):
        if key in found:
            entity.set(key, found[key])


SIMPLE: dict[str, Family] = {
    "sensor": Family(
        (TopicReading("state_topic", VALUE, convert=_sensor),),
        attributes={"state_class": ("state_class", None), "options": ("options", None)},
    ),
    "binary_sensor": Family((TopicReading("state_topic", VALUE, take=_binary),)),
    "switch": Family((TopicReading("state_topic", VALUE, convert=on_off),), (ON, OFF)),
    "button": Family((), (TopicWriting("press", payload=("payload_press", "PRESS")),)),
    "notify": Family((), (TopicWriting("send_message", field="message"),)),
    "scene": Family((), (TopicWriting("turn_on", payload=("payload_on", "ON")),)),
    "number": Family(
        (TopicReading("state_topic", VALUE, convert=_bounded),),
        (TopicWriting("set_value", field="value", into=STATE),),
        {"min": ("min", 1), "max": ("max", 100), "step": ("step", 1), "mode": ("mode", "auto")},
    ),
    "select": Family(
        (TopicReading("state_topic", VALUE, convert=one_of("options")),),
        (TopicWriting("select_option", field="option", into=STATE),),
        {"options": ("options", [])},
    ),
    "text": Family(
        (_STATE,),
        (TopicWriting("set_value", field="value", into=STATE),),
        {"min": ("min", 0), "max": ("max", 255), "mode": ("mode", "text"), "pattern": ("pattern", None)},
    ),
    "lock": Family(
        (TopicReading("state_topic", VALUE, convert=words(_LOCKED)),),
        (
            TopicWriting("lock", payload=("payload_lock", "LOCK"), into=STATE, shown="locked"),
            TopicWriting("unlock", payload=("payload_unlock", "UNLOCK"), into=STATE, shown="unlocked"),
            TopicWriting("open", payload=("payload_open", None), into=STATE, shown="unlocked"),  # type: ignore[arg-type]
        ),
        {"code_format": ("code_format", None)},
    ),
    "event": Family(
        (TopicReading("state_topic", VALUE, take=_event),), attributes={"event_types": ("event_types", [])}
    ),
    "update": Family(
        (
            TopicReading("state_topic", VALUE, take=_update),
            TopicReading("latest_version_topic", "latest_version_template", take=_latest),
        ),
        (TopicWriting("install", payload=("payload_install", None)),),  # type: ignore[arg-type]
        {"title": ("title", None), "release_url": ("release_url", None), "release_summary": ("release_summary", None)},
    ),
    "camera": Family((TopicReading("topic", VALUE),), large=True),
    "image": Family((TopicReading("image_topic", VALUE),), large=True),
    "device_tracker": Family(
        (TopicReading("state_topic", VALUE, convert=_tracked),), attributes={"source_type": ("source_type", "gps")}
    ),
    "alarm_control_panel": Family(
        (TopicReading("state_topic", VALUE, convert=_armed),),
        tuple(
            TopicWriting(service, payload=(f"payload_{service.removeprefix('alarm_')}", payload))
            for service, payload in _ALARM_SERVICES.items()
        ),
        {"code_arm_required": ("code_arm_required", True)},
    ),
    "vacuum": Family(
        (TopicReading("state_topic", VALUE, take=_vacuum),),
        (
            *(
                TopicWriting(name, payload=(f"payload_{name}", name))
                for name in ("start", "pause", "stop", "return_to_base", "locate", "clean_spot")
            ),
            TopicWriting("set_fan_speed", "set_fan_speed_topic", field="fan_speed"),
            TopicWriting("send_command", "send_command_topic", field="command"),
        ),
        {"fan_speed_list": ("fan_speed_list", None)},
    ),
    "lawn_mower": Family(
        (
            TopicReading(
                "activity_state_topic",
                "activity_value_template",
                convert=lambda text, _: None if text == NONE else text,
            ),
        ),
        tuple(
            TopicWriting(name, f"{name}_command_topic", f"{name}_command_template", payload=(f"payload_{name}", name))
            for name in ("start_mowing", "pause", "dock")
        ),
    ),
    "siren": Family(
        (TopicReading("state_topic", "state_value_template", take=_siren),),
        (
            TopicWriting("turn_on", payload=("payload_on", "ON"), into=STATE, shown="on"),
            TopicWriting(
                "turn_off", template="command_off_template", payload=("payload_off", "OFF"), into=STATE, shown="off"
            ),
        ),
        {"available_tones": ("available_tones", None)},
    ),
    "fan": Family(
        (
            TopicReading("state_topic", "state_value_template", convert=on_off),
            TopicReading("percentage_state_topic", "percentage_value_template", "percentage", _percentage),
            TopicReading("oscillation_state_topic", "oscillation_value_template", "oscillating", _oscillating),
            TopicReading("direction_state_topic", "direction_value_template", "direction"),
            _FAN_PRESET[0],
        ),
        (
            ON,
            OFF,
            TopicWriting(
                "set_percentage",
                "percentage_command_topic",
                "percentage_command_template",
                "percentage",
                convert=_scaled_speed,
                into="percentage",
                state="percentage_state_topic",
            ),
            TopicWriting(
                "oscillate",
                "oscillation_command_topic",
                "oscillation_command_template",
                "oscillating",
                convert=_oscillate,
                into="oscillating",
                state="oscillation_state_topic",
            ),
            TopicWriting(
                "set_direction",
                "direction_command_topic",
                "direction_command_template",
                "direction",
                into="direction",
                state="direction_state_topic",
            ),
            _FAN_PRESET[1],
        ),
        {"preset_modes": ("preset_modes", None)},
    ),
    "humidifier": Family(
        (
            TopicReading("state_topic", "state_value_template", convert=on_off),
            TopicReading("target_humidity_state_topic", "target_humidity_state_template", "humidity", number),
            TopicReading("current_humidity_topic", "current_humidity_template", "current_humidity", number),
            TopicReading("action_topic", "action_template", "action"),
            _HUMIDIFIER_MODE[0],
        ),
        (
            ON,
            OFF,
            TopicWriting(
                "set_humidity",
                "target_humidity_command_topic",
                "target_humidity_command_template",
                "humidity",
                into="humidity",
                state="target_humidity_state_topic",
            ),
            _HUMIDIFIER_MODE[1],
        ),
        {
            "available_modes": ("modes", None),
            "min_humidity": ("min_humidity", 0),
            "max_humidity": ("max_humidity", 100),
        },
    ),
}
