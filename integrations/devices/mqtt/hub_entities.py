"""Entities of this hub as others at the broker see and command them, in Home Assistant's form.

A lock, an alarm, a valve or a motor door shows its state only; nobody commands them this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.states import EntityState

_SWITCHED = ("switch", "input_boolean", "fan", "humidifier", "siren")
_PRESSED = {"button": "press", "input_button": "press", "scene": "turn_on", "script": "turn_on"}
_SET = {"number": "value", "input_number": "value", "text": "value", "input_text": "value"}
_SELECTED = ("select", "input_select")
_VERBS = ("open", "close", "stop")
_TEMPLATE = "{{ value_json.state }}"
_PAYLOADS = {"payload_on": "on", "payload_off": "off"}


def component(state: EntityState, base: str, *, read_only: bool) -> dict[str, Any]:
    """Return the component that shows an entity, and commands it where it can be commanded.

    Args:
        base: The topic above `state` and `set`.
        read_only: Whether it is only shown, since a command could open something.
    """
    domain, attributes = state.entity_id.partition(".")[0], state.attributes

    def of(*names: str) -> dict[str, Any]:
        return {each: attributes[each] for each in names if attributes.get(each) is not None}

    shown: dict[str, Any] = {"name": state.name, "state_topic": f"{base}/state", "value_template": _TEMPLATE}
    shown |= {
        "json_attributes_topic": f"{base}/state",
        "json_attributes_template": "{{ value_json.attributes | tojson }}",
    }
    commanded = shown | {"command_topic": f"{base}/set"}
    if read_only:
        return {"platform": "sensor", **shown}
    if domain in _SWITCHED:
        return {"platform": "switch", **commanded, **_PAYLOADS}
    if domain == "light":
        del commanded["value_template"]
        light = {"platform": "light", **commanded, **_PAYLOADS, "state_value_template": _TEMPLATE}
        if attributes.get("brightness") is None and attributes.get("supported_color_modes", ["onoff"]) == ["onoff"]:
            return light
        value = "{{ value_json.attributes.brightness | default(0, true) }}"
        topics = {"brightness_state_topic": f"{base}/state", "brightness_command_topic": f"{base}/set"}
        return {**light, **topics, "brightness_value_template": value, "on_command_type": "brightness"}
    if domain in _PRESSED:
        return {"platform": "button", "name": state.name, "command_topic": f"{base}/set"}
    if domain in _SET:
        limits = of("min", "max", "step", "mode", "unit_of_measurement", "pattern")
        return {"platform": domain.removeprefix("input_"), **commanded, **limits}
    if domain in _SELECTED:
        return {"platform": "select", **commanded, **of("options")}
    if domain == "cover":
        return {"platform": "cover", **commanded, **of("device_class")}
    if domain == "binary_sensor":
        return {"platform": "binary_sensor", **shown, **_PAYLOADS, **of("device_class")}
    return {"platform": "sensor", **shown, **of("device_class", "unit_of_measurement", "state_class")}


def command(state: EntityState, payload: str) -> tuple[str, str, Mapping[str, Any]] | None:
    """Return domain, service and data of what a payload asks of an entity, None when it asks nothing that may be."""
    domain = state.entity_id.partition(".")[0]
    if domain == "light" and payload.isdecimal():
        return domain, "turn_on", {"brightness": min(255, int(payload))}
    if domain in (*_SWITCHED, "light") and payload in ("on", "off"):
        return domain, f"turn_{payload}", {}
    if domain in _PRESSED and payload == "PRESS":
        return domain, _PRESSED[domain], {}
    if domain in _SET:
        return domain, "set_value", {_SET[domain]: payload if domain.endswith("text") else float(payload)}
    if domain in _SELECTED:
        return domain, "select_option", {"option": payload}
    if domain == "cover" and payload.lower() in _VERBS:
        return domain, f"{payload.lower()}_cover", {}
    return None
