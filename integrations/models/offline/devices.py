"""Devices in the output of the tool `get_state`, and which one a person means. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from integrations.models.offline.recognizer import ENGLISH
from integrations.models.offline.steps import read_items

_LITTLE_WORDS = {"the", "a", "an", "my", "in", "of", "的", "里", "里的"}
_LOCKED = frozenset({"locked", "unlocked"})
_MEASURES = {
    "temperature": re.compile(r"\b(?:temperature|warm|cold|hot)\b|温度|热|冷|多少度", re.IGNORECASE),
    "humidity": re.compile(r"\b(?:humid|humidity)\b|湿度", re.IGNORECASE),
}
_CHINESE_STATES = {
    "on": "开着",
    "off": "关着",
    "open": "打开",
    "closed": "关闭",
    "locked": "已锁",
    "unlocked": "未锁",
    "home": "在家",
    "not_home": "外出",
    "unavailable": "无法连接",
    "unknown": "未知",
}
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


class Device(Struct, frozen=True):
    """One device: `domain.object_id`, its name, its state, the unit of the state."""

    entity_id: str
    name: str
    state: str
    unit: str = ""

    @property
    def domain(self) -> str:
        """The kind of device."""
        return self.entity_id.partition(".")[0]

    def state_text(self, language: str) -> str:
        """Return the state as people read it."""
        state = self.state.replace("_", " ") if language == ENGLISH else _CHINESE_STATES.get(self.state, self.state)
        return f"{state} {self.unit}".strip()


def read_devices(output: str) -> list[Device]:
    """Return the devices in a tool's JSON output; nothing where there is none."""
    return [_device(each) for each in read_items(output, "states") if "entity_id" in each]


def search_for(name: str, sentence: str) -> str:
    """Return what to look for: the name, with the measure that the sentence asks for."""
    measure = next((word for word, pattern in _MEASURES.items() if pattern.search(sentence)), "")
    return name if not measure or measure in name else f"{name} {measure}"


def find(devices: Sequence[Device], name: str, state: str = "") -> Device | None:
    """Return the device of a name: the one that all of its words fit, with the fewest others.

    Args:
        devices: The devices found, the best first.
        name: The name as it was said.
        state: The state that was asked about: only a lock is locked.
    """
    said = _words(name)
    if not said:
        return None
    if state in _LOCKED:
        devices = [device for device in devices if device.domain == "lock"]
    fitting = [
        (len(_words(device.name)), device.name, device)
        for device in devices
        if said <= _words(device.name) or said <= _words(device.entity_id.partition(".")[2])
    ]
    # A device that is meant by its area or its kind has not all words in its name.
    return min(fitting, key=lambda each: each[:2])[2] if fitting else next(iter(devices), None)


def _device(state: dict[str, Any]) -> Device:
    attributes = state.get("attributes") or {}
    unit = str(attributes.get("unit_of_measurement") or "") if isinstance(attributes, dict) else ""
    return Device(
        str(state["entity_id"]), str(state.get("name") or state["entity_id"]), str(state.get("state", "")), unit
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("_", " "))) - _LITTLE_WORDS
