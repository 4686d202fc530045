"""Targets: resolves entity, device, area, floor and label ids to entities, as Home Assistant does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import REGISTRY_ID, AnyOf, Optional, as_list, string
from hub.core.states import StateMachine
from hub.entities.domains import TARGET_KEYS
from hub.entities.entries import EntityEntry
from hub.entities.registry import HomeRegistry

TARGET_FIELDS: Mapping[Any, Any] = {
    Optional("entity_id", description="Entities, or all."): AnyOf(None, [string], string),
    Optional("device_id", description="Devices, whose entities are meant."): AnyOf(None, [string], string),
    Optional("area_id", description="Areas, whose entities are meant."): AnyOf(None, [string], string),
    Optional("floor_id", description="Floors, whose areas are meant."): AnyOf(None, [string], string),
    Optional("label_id", description="Labels, whose entities, devices and areas are meant."): AnyOf(
        None, [string], string
    ),
}
_GROUP = "group."
_KINDS = {"device_id": "device", "area_id": "area", "floor_id": "floor", "label_id": "label"}


class TargetEntities(Struct, frozen=True):
    """The entities of a target.

    Attributes:
        named: Those that were named themselves.
        meant: Those of groups; and of devices, areas, floors and labels, without hidden ones and those for settings and
            diagnosis.
    """

    named: list[str]
    meant: list[str] = []


class _Members(Struct):
    """An index of members; rebuilt after registry changes."""

    version: int
    of_device: dict[str, list[EntityEntry]] = field(default_factory=dict)
    of_area: dict[str, list[EntityEntry]] = field(default_factory=dict)
    of_label: dict[str, list[EntityEntry]] = field(default_factory=dict)


class Targets:
    """Finds entities.

    Args:
        registry: Has the places of entities and devices.
        states: All entities, for `all`.
    """

    def __init__(self, registry: HomeRegistry, states: StateMachine) -> None:
        self._registry, self._states = registry, states
        self._known = _Members(-1)

    def of_device(self, id: str) -> list[EntityEntry]:
        """Return the entity ids of a device."""
        return self._members().of_device.get(id, [])

    def of_area(self, id: str) -> list[EntityEntry]:
        """Return the entities of an area: its own, and those of its devices without an area of their own."""
        return self._members().of_area.get(id, [])

    def of_label(self, id: str) -> list[EntityEntry]:
        """Return the entities that carry a label."""
        return self._members().of_label.get(id, [])

    def areas_of_floor(self, id: str) -> list[str]:
        """Return the areas of a floor."""
        return sorted(area.id for area in self._registry.areas.values() if area.floor_id == id)

    def find(self, data: Mapping[str, Any], domain: str | None = None) -> TargetEntities:
        """Return the entities targeted by a call's data.

        Args:
            domain: The domain of the service, for `entity_id: all`.

        Raises:
            InvalidRequest: The data names nothing.
            NotFound: A group, device, area, floor or label is not there.
        """
        ids = {key: _ids(data.get(key)) for key in TARGET_KEYS if data.get(key) is not None}
        if not ids:
            raise InvalidRequest(f"expected a target, one of {', '.join(TARGET_KEYS)}")
        for key in ("entity_id", "device_id"):
            if key in ids:
                ids[key] = [self._registry.local_id(id) or id if REGISTRY_ID.fullmatch(id) else id for id in ids[key]]
        for key, kind in _KINDS.items():
            for id in ids.get(key, ()):
                self._registry.require(kind, id)
        named = [each.lower() for each in ids.get("entity_id", ())]
        if "all" in named:
            named = [state.entity_id for state in self._states.all(domain)]
        meant = {entry.entity_id for entry in self._meant(ids) if not (entry.hidden or entry.entity_category)}
        if groups := [each for each in named if each.startswith(_GROUP)]:
            named = [each for each in named if each not in groups]
            meant |= self._in_groups(groups)
        return TargetEntities([each for each in dict.fromkeys(named) if each != "none"], sorted(meant - set(named)))

    def _in_groups(self, groups: list[str]) -> set[str]:
        """Return the members of groups, and of groups in them.

        Raises:
            NotFound: There is no such group.
        """
        found: set[str] = set()
        seen: set[str] = set()
        while groups:
            group = groups.pop()
            if group in seen:
                continue
            seen.add(group)
            state = self._states.get(group)
            if state is None:
                raise NotFound(phrase("there is no entity {entity}", entity=group))
            members = [str(each) for each in state.attributes.get("entity_id") or ()]
            groups += [each for each in members if each.startswith(_GROUP)]
            found.update(each for each in members if not each.startswith(_GROUP))
        return found

    def _meant(self, ids: Mapping[str, list[str]]) -> Iterable[EntityEntry]:
        registry = self._registry
        devices, areas = set(ids.get("device_id", ())), set(ids.get("area_id", ()))
        for floor in ids.get("floor_id", ()):
            areas.update(self.areas_of_floor(floor))
        for label in ids.get("label_id", ()):
            yield from self.of_label(label)
            devices.update(device.id for device in registry.devices.values() if label in device.labels)
            areas.update(area.id for area in registry.areas.values() if label in area.labels)
        for id in devices:
            yield from self.of_device(id)
        for id in areas:
            yield from self.of_area(id)

    def _members(self) -> _Members:
        registry = self._registry
        if self._known.version == registry.version:
            return self._known
        found = self._known = _Members(registry.version)
        for _, entry in sorted(registry.entities.items()):
            if entry.device_id is not None:
                found.of_device.setdefault(entry.device_id, []).append(entry)
            area = registry.area_of(entry)
            if area is not None:
                found.of_area.setdefault(area.id, []).append(entry)
            for label in entry.labels:
                found.of_label.setdefault(label, []).append(entry)
        return found


def _ids(value: Any) -> list[str]:
    """Return the ids in a list, or in a text with commas."""
    return [id for each in as_list(value) for part in str(each).split(",") if (id := part.strip())]
