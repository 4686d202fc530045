"""Home Assistant's template functions about areas, floors, labels, devices and integrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hub.entities.entries import DeviceEntry, EntityEntry
from hub.entities.registry import HomeRegistry
from hub.entities.targets import Targets

_DEVICE_ATTRS = frozenset(
    {"id", "name", "name_by_user", "manufacturer", "model", "sw_version", "hw_version", "area_id", "via_device_id"}
)


class RegistryFunctions:
    """The functions over the registries; unknown things give None, or an empty list.

    Args:
        registry: The registries.
        targets: Finds the entities of places and devices.
    """

    def __init__(self, registry: HomeRegistry, targets: Targets) -> None:
        self._registry, self._targets = registry, targets

    def all(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by name; each is a filter too."""
        return {
            "areas": lambda: sorted(self._registry.areas),
            "area_id": self._area_id,
            "area_name": lambda value: self._name(self._registry.areas, self._area_id(value)),
            "area_entities": lambda value: _ids(self._targets.of_area(self._area_id(value) or "")),
            "area_devices": self._area_devices,
            "floors": lambda: sorted(self._registry.floors),
            "floor_id": self._floor_id,
            "floor_name": lambda value: self._name(self._registry.floors, self._floor_id(value)),
            "floor_areas": self._floor_areas,
            "floor_entities": self._floor_entities,
            "labels": self._labels,
            "label_id": self._label_id,
            "label_name": lambda value: self._name(self._registry.labels, self._label_id(value)),
            "label_description": self._label_description,
            "label_areas": lambda value: self._labelled(self._registry.areas, value),
            "label_devices": lambda value: self._labelled(self._registry.devices, value),
            "label_entities": lambda value: _ids(self._targets.of_label(self._label_id(value) or "")),
            "device_id": self._device_id,
            "device_name": self._device_name,
            "device_entities": lambda value: _ids(self._targets.of_device(str(value))),
            "device_attr": self._device_attr,
            "is_device_attr": lambda value, name, expected: bool(self._device_attr(value, name) == expected),
            "integration_entities": self._integration_entities,
            "is_hidden_entity": self._is_hidden,
        }

    def _area_id(self, value: Any) -> str | None:
        text = str(value)
        entry = self._registry.entities.get(text)
        if entry is not None:
            area = self._registry.area_of(entry)
            return area.id if area is not None else None
        device = self._registry.devices.get(text)
        return device.area_id if device is not None else _by_name(self._registry.areas, text)

    def _floor_id(self, value: Any) -> str | None:
        found = _by_name(self._registry.floors, str(value))
        area = self._registry.areas.get(self._area_id(value) or "") if found is None else None
        return area.floor_id if area is not None else found

    def _floor_areas(self, value: Any) -> list[str]:
        return self._targets.areas_of_floor(self._floor_id(value) or "")

    def _floor_entities(self, value: Any) -> list[str]:
        return [id for area in self._floor_areas(value) for id in _ids(self._targets.of_area(area))]

    def _area_devices(self, value: Any) -> list[str]:
        area = self._area_id(value)
        return [] if area is None else [each.id for each in self._registry.devices.values() if each.area_id == area]

    def _labels(self, value: Any = None) -> list[str]:
        if value is None:
            return sorted(self._registry.labels)
        tables: Iterable[Mapping[str, Any]] = (
            self._registry.entities,
            self._registry.devices,
            self._registry.areas,
        )
        found = next((table[str(value)] for table in tables if str(value) in table), None)
        return sorted(found.labels) if found is not None else []

    def _label_id(self, value: Any) -> str | None:
        return _by_name(self._registry.labels, str(value))

    def _label_description(self, value: Any) -> str | None:
        found = self._registry.labels.get(self._label_id(value) or "")
        return found.description if found is not None else None

    def _labelled(self, entries: Mapping[str, Any], value: Any) -> list[str]:
        label = self._label_id(value)
        return [] if label is None else [each.id for each in entries.values() if label in each.labels]

    def _device(self, value: Any) -> DeviceEntry | None:
        text = str(value)
        entry = self._registry.entities.get(text)
        return self._registry.devices.get((entry.device_id or "") if entry is not None else text)

    def _device_id(self, value: Any) -> str | None:
        if (device := self._device(value)) is not None:
            return device.id
        names = str(value).casefold()
        devices = self._registry.devices.values()
        return next((each.id for each in devices if names in (each.shown_name.casefold(), _fold(each.name))), None)

    def _device_name(self, value: Any) -> str | None:
        device = self._device(value)
        return device.shown_name if device is not None else None

    def _device_attr(self, value: Any, name: str) -> Any:
        device = self._device(value)
        if device is None:
            return None
        if name == "identifiers":
            return [[device.source, each] for each in sorted(device.identifiers)]
        if name == "connections":
            return [list(each) for each in sorted(device.connections)]
        if name == "labels":
            return sorted(device.labels)
        return getattr(device, name) if name in _DEVICE_ATTRS else None

    def _integration_entities(self, value: Any) -> list[str]:
        return sorted(id for id, each in self._registry.entities.items() if each.source == str(value))

    def _is_hidden(self, value: Any) -> bool:
        entry = self._registry.entities.get(str(value))
        return entry is not None and entry.hidden

    def _name(self, entries: Mapping[str, Any], id: str | None) -> str | None:
        found = entries.get(id or "")
        return found.name if found is not None else None


def _ids(entries: Iterable[EntityEntry]) -> list[str]:
    return [entry.entity_id for entry in entries]


def _by_name(entries: Mapping[str, Any], text: str) -> str | None:
    """Return the id of the entry that has this id, name or alias."""
    if text in entries:
        return text
    wanted = text.strip().casefold()
    for entry in entries.values():
        if wanted in (_fold(entry.name), *map(_fold, getattr(entry, "aliases", ()))):
            return str(entry.id)
    return None


def _fold(text: str | None) -> str:
    return (text or "").casefold()
