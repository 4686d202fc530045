"""Discovery messages: a device's claims, checked before anything is made of them.

The single form announces one component, the device form a device with all of its components. Keys that are not known
are ignored. Source: https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.core.schema import show
from hub.entities.description import DeviceInfo
from hub.integration.mqtt_topics import problem_of
from integrations.devices.mqtt.discovery.abbreviations import expand_keys
from integrations.devices.mqtt.topics import NODES, check_topic

DEVICE = "device"
COMPONENTS_LIMIT = 200
TEXT_LIMIT = 512
TEMPLATE_LIMIT = 4_096
ITEMS_LIMIT = 1_000
_TOPIC = re.compile(r"(?P<component>\w+)/(?:(?P<node>[a-zA-Z0-9_-]+)/)?(?P<object>[a-zA-Z0-9_-]+)/config")
_INHERITED = frozenset(
    {
        *("availability", "availability_mode", "availability_template", "availability_topic", "command_topic"),
        *("state_topic", "payload_available", "payload_not_available", "qos", "encoding"),
    }
)
_NUMBERS = frozenset(
    {
        *("min", "max", "step", "precision", "expire_after", "off_delay", "min_temp", "max_temp", "temp_step"),
        *("initial", "min_humidity", "max_humidity", "min_mireds", "max_mireds", "min_kelvin", "max_kelvin"),
        *("brightness_scale", "white_scale", "position_open", "position_closed", "speed_range_min", "speed_range_max"),
        *("tilt_min", "tilt_max", "tilt_opened_value", "tilt_closed_value", "qos", "suggested_display_precision"),
    }
)
_LISTS = frozenset(
    {
        *("options", "modes", "preset_modes", "fan_modes", "swing_modes", "effect_list", "event_types"),
        *("available_tones", "fan_speed_list", "supported_features", "supported_color_modes"),
    }
)


def is_command_topic(key: str) -> bool:
    """Whether the hub publishes on the topic under a key."""
    return key.endswith("command_topic") or (key.startswith("set_") and key.endswith("_topic"))


class Announced(Struct, frozen=True):
    """One component as it was announced.

    Attributes:
        component: Its kind: `sensor`, `switch`, …
        unique_id: Distinguishes it from the others of its kind.
        config: Its keys written out, with topics complete.
        device: Its device.
        origin: The program that announced it.
    """

    component: str
    unique_id: str
    config: Mapping[str, Any]
    device: DeviceInfo | None = None
    origin: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Its identity."""
        return self.component, self.unique_id

    def topics(self, *, commands: bool) -> list[tuple[str, str]]:
        """Return the topics on which the hub publishes, or those that it reads, each with its key."""
        stated = list(self.config.items())
        for each in self.config.get("availability") or ():
            stated += each.items()
        named = [(key, topic) for key, topic in stated if key == "topic" or key.endswith("_topic")]
        return [(key, str(topic)) for key, topic in named if topic and is_command_topic(key) is commands]


class Announcement(Struct, frozen=True):
    """The content of one message.

    Attributes:
        components: The announced components.
        refused: Why some components were refused, by their names.
        migrates: Whether the components of this topic wait for another topic that announces them.
    """

    components: tuple[Announced, ...] = ()
    refused: Mapping[str, str] = {}
    migrates: bool = False


def read_announcement(topic: str, payload: bytes, prefix: str) -> Announcement:
    """Read a discovery message; an empty one announces nothing.

    Raises:
        InvalidRequest: It is not a discovery message; the message says why.
    """
    found = _TOPIC.fullmatch(topic.removeprefix(f"{prefix}/"))
    if found is None:
        raise InvalidRequest("expected <component>/[<node>/]<object>/config with ids of a-z, A-Z, 0-9, _ and -")
    if not payload:
        return Announcement()
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        raise InvalidRequest("this is not JSON") from None
    if not isinstance(said, dict):
        raise InvalidRequest("expected a JSON object")
    root = expand_keys(said)
    if root.get("migrate_discovery") is True:
        return Announcement(migrates=True)
    if found["component"] == DEVICE:
        return _device(root)
    name = "_".join(each for each in (found["component"], found["node"], found["object"]) if each)
    root.setdefault("unique_id", name)
    if found["node"] is None or "object_id" not in root:
        root.setdefault("name", None if "device" in root else found["object"])
    return Announcement((check_component(found["component"], root),))


def check_component(component: str, config: Mapping[str, Any]) -> Announced:
    """Return a component, checked.

    Raises:
        InvalidRequest: A key has a value of another kind than it must have.
    """
    unique_id = config.get("unique_id")
    if not isinstance(unique_id, str | int) or not 1 <= len(str(unique_id)) <= TEXT_LIMIT:
        raise InvalidRequest("unique_id: expected a text")
    origin = config.get("origin")
    name = origin.get("name") if isinstance(origin, dict) else None
    complete = _complete(config)
    if component == "image":
        _one_source(complete)
    device = _device_info(complete.get("device"))
    return Announced(component, str(unique_id), complete, device, name if isinstance(name, str) else "")


def _one_source(config: Mapping[str, Any]) -> None:
    """Raise `InvalidRequest` for an image without a topic for its picture, or with two."""
    if ("image_topic" in config) is ("url_topic" in config):
        raise InvalidRequest("expected one of image_topic and url_topic")
    if {"content_type", "url_topic"} <= config.keys():
        raise InvalidRequest("content_type: this is for image_topic alone; at an address, the picture itself says it")


def _device(root: dict[str, Any]) -> Announcement:
    components, origin = root.get("components"), root.get("origin")
    if not isinstance(root.get("device"), dict) or not isinstance(components, dict):
        raise InvalidRequest("a device needs device and components")
    if not isinstance(origin, dict) or not isinstance(origin.get("name"), str):
        raise InvalidRequest("a device needs origin: {name: …}")
    if len(components) > COMPONENTS_LIMIT:
        raise InvalidRequest(f"a device has at most {COMPONENTS_LIMIT} components, this one has {len(components)}")
    _require_device(root["device"])
    shared = {key: root[key] for key in _INHERITED & root.keys()}
    shared |= {key: root[key] for key in ("device", "origin", "~") if key in root}
    found: list[Announced] = []
    refused: dict[str, str] = {}
    for name, said in components.items():
        own = expand_keys(said) if isinstance(said, dict) else {}
        component = own.pop("platform", None)
        if component is not None and not own:
            continue  # it is removed
        try:
            if not isinstance(component, str):
                raise InvalidRequest("platform is missing")
            if component == "device_automation":
                own.setdefault("unique_id", str(name))
            found.append(check_component(component, {**shared, **own}))
        except InvalidRequest as error:
            refused[str(name)[:TEXT_LIMIT]] = error.message
    return Announcement(tuple(found), refused)


def _complete(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with `~` replaced and each value checked."""
    base = config.get("~", "")
    complete: dict[str, Any] = {}
    for key, value in config.items():
        if key in ("~", "device", "origin"):
            complete[key] = value
        elif key == "availability":
            if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
                raise InvalidRequest("availability: expected a list of mappings")
            complete[key] = [
                {name: _value(name, each_value, base) for name, each_value in each.items()}
                for each in value[:ITEMS_LIMIT]
            ]
        else:
            complete[key] = _value(key, value, base)
    return complete


def _value(key: str, value: Any, base: Any) -> Any:
    if value is None:
        return None
    if key == "topic" or key.endswith("_topic"):
        return _topic(key, value, base)
    if key.endswith("_template") or key == "template":
        if not isinstance(value, str) or len(value) > TEMPLATE_LIMIT:
            raise InvalidRequest(f"{key}: expected a template of at most {TEMPLATE_LIMIT} characters")
        return value
    if key in _NUMBERS:
        return _number(key, value)
    if key in _LISTS:
        if not isinstance(value, list) or len(value) > ITEMS_LIMIT or any(len(str(each)) > 255 for each in value):
            raise InvalidRequest(f"{key}: expected a list of texts")
        return [str(each) for each in value]
    if key.startswith(("payload", "state_")) and isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        raise InvalidRequest(f"{key}: expected at most {TEXT_LIMIT} characters")
    return value


def _number(key: str, value: Any) -> int | float:
    """Return a number, which many devices write as a text."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
            value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        raise InvalidRequest(f"{key}: expected a number, got {show(value)}")
    return value


def _topic(key: str, value: Any, base: Any) -> str:
    if isinstance(value, str) and isinstance(base, str):
        value = base + value[1:] if value.startswith("~") else value
        value = value[:-1] + base if value.endswith("~") else value
    try:
        if is_command_topic(key):
            return check_topic(value)
        if not isinstance(value, str) or problem_of(value) or value.startswith("$"):
            raise InvalidRequest(f"expected a topic or a topic filter, got {show(value)}")
        if value.startswith(f"{NODES}/"):
            raise InvalidRequest("topics of nodes are for the hub alone")
    except InvalidRequest as error:
        raise InvalidRequest(f"{key}: {error.message}") from None
    return value


def _require_device(device: Mapping[str, Any]) -> None:
    if not device.get("identifiers") and not device.get("connections"):
        raise InvalidRequest("device: expected identifiers or connections")


def _device_info(said: Any) -> DeviceInfo | None:
    if said is None:
        return None
    if not isinstance(said, dict):
        raise InvalidRequest("device: expected a mapping")
    _require_device(said)
    identifiers = said.get("identifiers", [])
    identifiers = identifiers if isinstance(identifiers, list) else [identifiers]
    pairs = said.get("connections", [])
    if not isinstance(pairs, list) or not all(isinstance(each, list) and len(each) == 2 for each in pairs):
        raise InvalidRequest("device: connections: expected pairs such as [mac, 02:00:00:00:00:01]")
    if len(identifiers) + len(pairs) > ITEMS_LIMIT:
        raise InvalidRequest(f"device: expected at most {ITEMS_LIMIT} identifiers and connections")

    def text(key: str) -> str | None:
        value = said.get(key)
        return None if value is None or isinstance(value, dict | list) else str(value)[:TEXT_LIMIT]

    return DeviceInfo(
        frozenset(str(each)[:TEXT_LIMIT] for each in identifiers),
        frozenset((str(kind)[:TEXT_LIMIT], str(value)[:TEXT_LIMIT].lower()) for kind, value in pairs),
        **{key: text(key) for key in ("name", "manufacturer", "model", "sw_version", "hw_version", "via_device")},
        serial=text("serial_number"),
        configuration_url=text("configuration_url"),
        suggested_area=text("suggested_area"),
    )
