"""Frigate: cameras with motion, persons and switches. Source: https://docs.frigate.video/integrations/mqtt/"""

from __future__ import annotations

from typing import Any

from integrations.devices.mqtt.discovery.announcement import Announced, check_component
from integrations.devices.mqtt.topics import SEGMENT

CAMERAS_LIMIT = 100


def cameras(said: Any) -> list[Announced]:
    """Return the components of each camera in the statistics."""
    found: list[Announced] = []
    named = said.get("cameras") if isinstance(said, dict) else None
    for camera in list(named)[:CAMERAS_LIMIT] if isinstance(named, dict) else ():
        if not SEGMENT.fullmatch(camera):
            continue
        base = f"frigate/{camera}"
        common = {
            "device": {"identifiers": [f"frigate_{camera}"], "name": camera, "manufacturer": "Frigate"},
            "origin": {"name": "Frigate"},
            "availability_topic": "frigate/available",
        }

        def add(component: str, name: str, common: Any = common, camera: str = camera, **config: Any) -> None:
            unique_id = f"frigate_{camera}_{name.lower().replace(' ', '_')}"
            found.append(check_component(component, {**common, "unique_id": unique_id, "name": name, **config}))

        add("binary_sensor", "Motion", state_topic=f"{base}/motion", device_class="motion")
        add("sensor", "Persons", state_topic=f"{base}/person", state_class="measurement")
        add("camera", "Person", topic=f"{base}/person/snapshot")
        for each in ("detect", "recordings", "snapshots"):
            topics = {"state_topic": f"{base}/{each}/state", "command_topic": f"{base}/{each}/set"}
            add("switch", each.capitalize(), **topics, entity_category="config")
    return found
