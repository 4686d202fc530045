"""Approved nodes as devices of the home, with their reports as diagnostic sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import EntityHandle, HomeEntities
from hub.nodes.records import NodeRecord

SOURCE = "nodes"
GIB = 1 << 30
STATS = {
    "cpuCount": "Processors",
    "memoryTotalBytes": "Memory total",
    "memoryFreeBytes": "Memory free",
    "diskTotalBytes": "Disk total",
    "diskAvailableBytes": "Disk free",
}
PLACE = {
    "lat": "latitude",
    "lon": "longitude",
    "accuracyMeters": "gps_accuracy",
    "altitudeMeters": "altitude",
    "speedMps": "speed",
}
"""Of a phone's report, and what a tracker calls it."""


class NodeSensors:
    """The devices and sensors of all nodes.

    Args:
        entities: Registers them.
    """

    def __init__(self, entities: HomeEntities) -> None:
        self._entities = entities
        self._handles: dict[tuple[str, str], EntityHandle] = {}

    def appear(self, record: NodeRecord) -> str:
        """Add an approved node to the devices of the home; return the device's id."""
        return self._entities.registry.device_for(SOURCE, device_of(record)).id

    def report(self, record: NodeRecord, data: Any) -> dict[str, Any] | None:
        """Set a node's sensors from its `node.host.stats`; return the accepted values, None if malformed."""
        if not isinstance(data, Mapping) or not all(_is_number(data.get(key, 0)) for key in STATS):
            return None
        stats: dict[str, Any] = {key: data[key] for key in STATS if key in data}
        for key, value in stats.items():
            if key.endswith("Bytes"):
                self._set(record, STATS[key], f"{value / GIB:.2f}", "GiB")
            else:
                self._set(record, STATS[key], f"{value:g}")
        load = data.get("loadAverage")
        if isinstance(load, list) and load and all(map(_is_number, load[:3])):
            stats["loadAverage"] = load[:3]
            self._set(record, "Load", f"{load[0]:g}")
        return stats

    def locate(self, record: NodeRecord, data: Any) -> bool:
        """Set where a phone is and its battery from its `node.report`; return whether that was well formed."""
        numbers = [*PLACE, "battery"]
        if not isinstance(data, Mapping) or not all(data.get(key) is None or _is_number(data[key]) for key in numbers):
            return False
        battery = data.get("battery")
        if battery is not None:
            self._set(record, "Battery", f"{battery:g}", "%", "battery")
        if data.get("lat") is None or data.get("lon") is None:
            return battery is not None
        key = record.id, "tracker"
        if (handle := self._handles.get(key)) is None:
            description = EntityDescription("device_tracker", f"{record.id} tracker", device=device_of(record))
            handle = self._handles[key] = self._entities.add(description, source=SOURCE)
        found = {name: data[key] for key, name in PLACE.items() if data.get(key) is not None}
        shown = found if battery is None else found | {"battery_level": battery}
        handle.set(None, {"source_type": "gps", **shown})
        return True

    def away(self, node_id: str) -> None:
        """Show the sensors of a node as unavailable until it reports again; where it was last is still known."""
        for (id, name), handle in self._handles.items():
            if id == node_id and name != "tracker":
                handle.available(False)

    def forget(self, node_id: str) -> None:
        """Remove a node's sensors and its device."""
        for key in [each for each in self._handles if each[0] == node_id]:
            self._handles.pop(key).remove(forget=True)
        registry = self._entities.registry
        for device in list(registry.devices.values()):
            if device.source == SOURCE and node_id in device.identifiers:
                registry.remove("device", device.id)

    def _set(
        self, record: NodeRecord, name: str, state: str, unit: str | None = None, device_class: str | None = None
    ) -> None:
        key = record.id, name
        handle = self._handles.get(key)
        if handle is None or not handle.is_available:  # it may have another name since it was here
            description = EntityDescription(
                "sensor",
                f"{record.id} {name}",
                name,
                device=device_of(record),
                device_class=device_class or ("data_size" if unit else None),
                unit=unit,
                entity_category="diagnostic",
            )
            if handle is None:
                handle = self._handles[key] = self._entities.add(description, source=SOURCE)
            else:
                handle.update(description, {})
                handle.available(True)
        handle.set(state)


def device_of(record: NodeRecord) -> DeviceInfo:
    """Return what a node is among the devices of the home."""
    about = record.about
    return DeviceInfo(
        frozenset({record.id}),
        name=record.title,
        model=about.get("modelIdentifier") or about.get("deviceFamily"),
        sw_version=about.get("version"),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63
