"""An entity: something of the home that has a state and can be switched, with the device that it belongs to.

Agents, automations and the dashboard know it by its entity id, `light.kiosk_screen`. `unique_id` never changes. Words
in a state count as words from outside. `light.available(False)` is for a device that cannot be reached.

The contract: `hub/entities/description.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.entities.description import DeviceInfo, EntityDescription
from hub.host import IntegrationHost


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add the light, which is off."""

    async def turn_on(data: Mapping[str, Any]) -> None:
        light.set("on")

    async def turn_off(data: Mapping[str, Any]) -> None:
        light.set("off")

    device = DeviceInfo(identifiers=frozenset({"kiosk"}), name="Kiosk")
    description = EntityDescription("light", "screen", "Screen", object_id="kiosk_screen", device=device)
    light = host.entities.add(description, {"turn_on": turn_on, "turn_off": turn_off})
    light.set("off")
