"""Home Assistant's words of device triggers, conditions and actions, as states and services of an entity.

Source: the files `device_trigger.py`, `device_condition.py` and `device_action.py` of its integrations.
"""

from __future__ import annotations

from collections.abc import Mapping

_STATES = {"turned_on": "on", "turned_off": "off", "opened": "open", "armed_home": "armed_home"}
_SAME = (
    *("closed", "opening", "closing", "locked", "unlocked", "locking", "unlocking", "jammed", "disarmed", "triggered"),
    *("armed_away", "armed_night", "armed_vacation", "arming", "cleaning", "docked", "playing", "paused", "idle"),
)
_SERVICES: Mapping[str, str] = {
    **{verb: f"{verb}_{{domain}}" for verb in ("open", "close", "stop")},
    **{f"{verb}_tilt": f"{verb}_{{domain}}_tilt" for verb in ("open", "close")},
    **{f"arm_{mode}": f"alarm_arm_{mode}" for mode in ("home", "away", "night", "vacation")},
    "disarm": "alarm_disarm",
    "trigger": "alarm_trigger",
    "set_position": "set_{domain}_position",
    "set_tilt_position": "set_{domain}_tilt_position",
    "clean": "start",
    "dock": "return_to_base",
}


def state_of(domain: str, type: str) -> str | None:
    """Return the state that a type of a trigger or a condition means; None for any change, or a number."""
    word = type.removeprefix("is_")
    if word in ("changed_states", "toggled", "value", "current_temperature_changed"):
        return None
    if domain == "binary_sensor" and word not in ("on", "off"):
        is_off = word.startswith(("not_", "no_")) or word in ("turned_off", "closed")
        return "off" if is_off else "on"
    return word if word in _SAME else _STATES.get(word, word)


def service_of(domain: str, type: str) -> str:
    """Return the service that a type of an action means."""
    return f"{domain}.{_SERVICES.get(type, type).format(domain=domain)}"
