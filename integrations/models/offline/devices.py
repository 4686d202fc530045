"""Devices as the tool `get_state` tells of them, and which one a person means. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from integrations.models.offline.steps import read_items

_LITTLE_WORDS = {"the", "a", "an", "my", "in", "of", "的", "里", "里的"}
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


class Device(Struct, frozen=True):
    """One device: `domain.object_id`, its name, its state, the unit of the state."""

    entity_id: str
    name: str
    state: str
    unit: str = ""

    @property
    def domain(self) -> str:
        """What kind of device it is."""
        return self.entity_id.partition(".")[0]

    @property
    def shown(self) -> str:
        """The state as people read it."""
        return f"{self.state} {self.unit}".strip()


def read_devices(output: str) -> list[Device]:
    """Return the devices in a tool's JSON output; nothing where there is none."""
    return [_device(each) for each in read_items(output, "states") if "entity_id" in each]


def find(devices: Sequence[Device], name: str) -> Device | None:
    """Return the device that `name` means: the one all of whose said words fit, with the fewest others."""
    said = _words(name)
    if not said:
        return None
    fitting = [
        (len(_words(device.name)), device.name, device)
        for device in devices
        if said <= _words(device.name) or said <= _words(device.entity_id.partition(".")[2])
    ]
    return min(fitting, key=lambda each: each[:2])[2] if fitting else None


def _device(state: dict[str, Any]) -> Device:
    attributes = state.get("attributes") or {}
    unit = str(attributes.get("unit_of_measurement") or "") if isinstance(attributes, dict) else ""
    return Device(
        str(state["entity_id"]), str(state.get("name") or state["entity_id"]), str(state.get("state", "")), unit
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("_", " "))) - _LITTLE_WORDS
