"""The registries of floors, areas, labels, devices and entities: people's decisions, kept in `.storage`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from hub.core.errors import Conflict, InvalidRequest, LimitExceeded, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.slugs import slugify
from hub.core.states import ENTITY_ID, ENTITY_LIMIT, StateMachine
from hub.core.tasks import TaskOwner
from hub.entities.description import DeviceInfo, EntityDescription, clean
from hub.entities.entries import AreaEntry, DeviceEntry, EntityEntry, FloorEntry, LabelEntry, RegistryData
from hub.storage.delayed_file import DelayedFile
from hub.storage.versioned_file import VersionedFile

Entries: TypeAlias = "dict[str, Any]"

FILE = ".storage/home_registry.json"
VERSION = 1
SAVE_AFTER_S = 0.5
"""Changes within this time are written together."""
PLACES_LIMIT = 500
"""Of floors, of areas and of labels."""
DEVICES_LIMIT = 5_000
UPDATED = "{kind}_registry_updated"
_MADE: Mapping[str, type[FloorEntry | AreaEntry | LabelEntry]] = {
    "floor": FloorEntry,
    "area": AreaEntry,
    "label": LabelEntry,
}
_REFERENCES = {"floor_id": "floor", "area_id": "area", "device_id": "device", "via_device_id": "device"}


class HomeRegistry:
    """Knows floors, areas, labels, devices and entities, each by its id.

    Args:
        file: Its file.
        bus: Receives `floor_registry_updated`, `area_…`, `label_…`, `device_…` and `entity_registry_updated` with
            `action` (create, update, remove) and the id.
        states: Their ids are taken.
        tasks: Owns the writing.
    """

    def __init__(self, file: VersionedFile, bus: EventBus, states: StateMachine, tasks: TaskOwner) -> None:
        self._file, self._bus, self._states = file, bus, states
        self.floors: dict[str, FloorEntry] = {}
        self.areas: dict[str, AreaEntry] = {}
        self.labels: dict[str, LabelEntry] = {}
        self.devices: dict[str, DeviceEntry] = {}
        self.entities: dict[str, EntityEntry] = {}
        self._by_unique_id: dict[tuple[str, str], str] = {}
        self._by_identifier: dict[tuple[str, str], str] = {}
        self._saved = DelayedFile(file, self._data, tasks, asyncio.sleep, SAVE_AFTER_S)
        self.version = 0
        """Rises with each change."""

    async def open(self) -> None:
        """Load the registries.

        Raises:
            StorageError: It was written by a newer program, or could not be read.
        """
        stored = await asyncio.to_thread(self._file.read)
        data = msgspec.convert(stored or {}, RegistryData)
        for kind, entries in self._tables().items():
            for entry in getattr(data, entries[0]):
                entries[1][_id(kind, entry)] = entry
        for entity in self.entities.values():
            self._by_unique_id[entity.source, entity.unique_id] = entity.entity_id
        for device in self.devices.values():
            self._index(device)

    def local_id(self, id: str) -> str | None:
        """Return the id of our entity or device for an id of ours or of a bridged registry; None when there is none."""
        known = (*self._by_unique_id.items(), *self._by_identifier.items())
        return id if id in self.devices else next((found for (_, each), found in known if each == id), None)

    async def close(self) -> None:
        """Write pending changes."""
        await self._saved.close()

    async def flush(self) -> None:
        """Write changes now; they are on disk when this returns."""
        await self._saved.flush()

    def create(self, kind: str, name: str, **fields: Any) -> Any:
        """Add a floor, an area or a label; its id is derived from its name.

        Raises:
            InvalidRequest: The name is empty, or a field refers to something that does not exist.
            Conflict: There is one with that name.
            LimitExceeded: There are 500 already.
        """
        entries = self._entries(kind)
        shown = _name(name)
        self._require_free(kind, shown, None)
        if len(entries) >= PLACES_LIMIT:
            raise LimitExceeded(f"there are already {PLACES_LIMIT} {kind}s")
        id = _free(slugify(shown) or kind, entries)
        entry = _MADE[kind](id, shown, **self._valid(kind, fields))
        self._put(kind, entry, "create")
        return entry

    def update(self, kind: str, id: str, **changes: Any) -> Any:
        """Change an entry; an entity may get a new `entity_id` of the same domain.

        Raises:
            NotFound: There is none of that id.
            InvalidRequest: A field refers to something that does not exist, or is malformed.
            Conflict: The name or the entity id is taken.
        """
        entries, old = self._entries(kind), self.require(kind, id)
        valid = self._valid(kind, changes)
        if kind in _MADE and "name" in valid:
            valid["name"] = _name(valid["name"])
            self._require_free(kind, valid["name"], id)
        new = replace(old, **valid)
        if new == old:
            return old
        if isinstance(new, EntityEntry) and new.entity_id != id:
            self._require_entity_id(new, id)
            del entries[id]
            self._by_unique_id[new.source, new.unique_id] = new.entity_id
        changed = {key: value for key, value in asdict(old).items() if value != getattr(new, key)}
        self._put(kind, new, "update", changed)
        return new

    def remove(self, kind: str, id: str) -> None:
        """Remove an entry and its references; a device is removed with its entities.

        Raises:
            NotFound: There is none of that id.
        """
        entry = self.require(kind, id)
        for other, (_, entries) in self._tables().items():
            for key, each in list(entries.items()):
                if kind == "device" and getattr(each, "device_id", None) == id:
                    self.remove(other, key)
                    continue
                freed: dict[str, Any] = {
                    field: None for field, to in _REFERENCES.items() if to == kind and getattr(each, field, None) == id
                }
                if kind == "label" and id in getattr(each, "labels", ()):
                    freed["labels"] = each.labels - {id}
                if freed:
                    self._put(other, replace(each, **freed), "update", dict.fromkeys(freed))
        del self._entries(kind)[id]
        if isinstance(entry, EntityEntry):
            del self._by_unique_id[entry.source, entry.unique_id]
        if isinstance(entry, DeviceEntry):
            self._by_identifier = {key: value for key, value in self._by_identifier.items() if value != id}
        self._changed(kind, "remove", id, {})

    def require(self, kind: str, id: str) -> Any:
        """Return an entry.

        Raises:
            NotFound: There is none of that id.
        """
        found = self._entries(kind).get(id)
        if found is None:
            raise NotFound(f"there is no {kind} {id[:100]!r}", details={kind: id[:100]})
        return found

    def device_for(self, source: str, info: DeviceInfo) -> DeviceEntry:
        """Return the device that fits a description, after adding it if it is new.

        Raises:
            InvalidRequest: It has neither identifiers nor connections.
            LimitExceeded: There are 5 000 devices already.
        """
        keys = _keys(source, info.identifiers, info.connections)
        if not keys:
            raise InvalidRequest(f"a device of {source} has neither identifiers nor connections")
        id = next((self._by_identifier[key] for key in sorted(keys) if key in self._by_identifier), None)
        words = ("name", "manufacturer", "model", "sw_version", "hw_version", "serial")
        told: dict[str, Any] = {key: text for key in words if (text := clean(getattr(info, key))) is not None}
        url = info.configuration_url
        if url and len(url) < 500 and url.startswith(("http://", "https://")):
            told["configuration_url"] = url
        via = self._by_identifier.get((source, info.via_device)) if info.via_device else None
        if via is not None and via != id:
            told["via_device_id"] = via
        if id is None:
            if len(self.devices) >= DEVICES_LIMIT:
                raise LimitExceeded(f"there are already {DEVICES_LIMIT} devices; remove those that are gone")
            area = self._area_named(info.suggested_area)
            new = DeviceEntry(new_id(), source, info.identifiers, info.connections, area_id=area, **told)
            self._put("device", new, "create")
            return new
        old = self.devices[id]
        new = replace(
            old,
            identifiers=old.identifiers | info.identifiers if old.source == source else old.identifiers,
            connections=old.connections | info.connections,
            **told,
        )
        if new != old:
            self._put("device", new, "update")
        return new

    def entity_for(self, source: str, description: EntityDescription) -> EntityEntry:
        """Return the present entry of a description; it is added, with an entity id, if it is new.

        Raises:
            InvalidRequest: The domain is malformed.
            LimitExceeded: There are 20 000 entities already.
        """
        device = self.device_for(source, description.device) if description.device is not None else None
        told: dict[str, Any] = {
            "device_id": device.id if device is not None else None,
            "original_name": clean(description.name),
            "icon": clean(description.icon),
            "device_class": description.device_class,
            "entity_category": description.entity_category,
            "is_full_name": description.is_full_name,
        }
        entity_id = self._by_unique_id.get((source, description.unique_id))
        if entity_id is not None and entity_id.startswith(f"{description.domain}."):
            old = self.entities[entity_id]
            new = replace(old, **told)
            if new != old:
                self._put("entity", new, "update")
            return new
        if entity_id is not None:
            self.remove("entity", entity_id)  # it has become something else
        if len(self.entities) >= ENTITY_LIMIT:
            raise LimitExceeded(f"there are already {ENTITY_LIMIT} entities; remove those that are gone")
        new = EntityEntry(
            self._new_entity_id(source, description, device),
            source,
            description.unique_id,
            disabled=not description.enabled_by_default,
            new=description.is_new,  # at a known device too: what tells that from others can be copied
            **told,
        )
        if not ENTITY_ID.match(new.entity_id):
            raise InvalidRequest(f"{description.domain!r} is not a domain of entities; expected a-z, 0-9 and _")
        self._by_unique_id[source, description.unique_id] = new.entity_id
        self._put("entity", new, "create")
        return new

    def entity_id_of(self, source: str, unique_id: str) -> str | None:
        """Return the id of an entity, or None when it is not known."""
        return self._by_unique_id.get((source, unique_id))

    def name_of(self, entry: EntityEntry) -> str:
        """Return the displayed name: the owner's, else the names of its device and of itself."""
        if entry.name:
            return entry.name
        device = self.devices.get(entry.device_id or "") if not entry.is_full_name else None
        return _joined(device.shown_name if device is not None else None, entry.original_name) or entry.entity_id

    def area_of(self, entry: EntityEntry) -> AreaEntry | None:
        """Return the area of an entity, which is that of its device unless it has its own."""
        device = self.devices.get(entry.device_id or "")
        return self.areas.get(entry.area_id or (device.area_id if device is not None else None) or "")

    def _new_entity_id(self, source: str, description: EntityDescription, device: DeviceEntry | None) -> str:
        wanted = description.object_id
        if wanted is None:
            wanted = _joined(device.shown_name if device is not None else None, clean(description.name))
        slug = slugify(wanted or "")[:100] or slugify(f"{source}_{description.unique_id}")[:100] or "entity"
        prefix = f"{description.domain}."
        number, found = 1, prefix + slug
        while found in self.entities or self._states.get(found) is not None:
            number += 1
            found = f"{prefix}{slug}_{number}"
        return found

    def _area_named(self, name: str | None) -> str | None:
        shown = clean(name, 64)
        if shown is None:
            return None
        found = next((area for area in self.areas.values() if _same(area.name, shown)), None)
        if found is not None:
            return found.id
        return self.create("area", shown).id if len(self.areas) < PLACES_LIMIT else None

    def _valid(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields that fit the entries of a kind."""
        found = dict(fields)
        for key, value in fields.items():
            if key in _REFERENCES and value is not None:
                self.require(_REFERENCES[key], value)
            elif key == "labels":
                for each in value:
                    self.require("label", each)
                found[key] = frozenset(value)
            elif key == "aliases":
                found[key] = tuple(name for each in value if (name := clean(each)) is not None)
            elif key in ("name", "name_by_user", "description"):
                found[key] = clean(value)
        return found

    def _require_free(self, kind: str, name: str, id: str | None) -> None:
        for key, entry in self._entries(kind).items():
            if key != id and _same(entry.name, name):
                raise Conflict(f"there is already {'an' if kind == 'area' else 'a'} {kind} {entry.name}")

    def _require_entity_id(self, entry: EntityEntry, before: str) -> None:
        domain = before.partition(".")[0]
        if not ENTITY_ID.match(entry.entity_id) or entry.domain != domain:
            raise InvalidRequest(f"{entry.entity_id[:100]!r} is not an entity id such as {domain}.desk_plug")
        if entry.entity_id in self.entities or self._states.get(entry.entity_id) is not None:
            raise Conflict(f"there is already an entity {entry.entity_id}")

    def _put(self, kind: str, entry: Any, action: str, changes: Mapping[str, Any] | None = None) -> None:
        self._entries(kind)[_id(kind, entry)] = entry
        if isinstance(entry, DeviceEntry):
            self._index(entry)
        self._changed(kind, action, _id(kind, entry), changes or {})

    def _index(self, device: DeviceEntry) -> None:
        for key in _keys(device.source, device.identifiers, device.connections):
            self._by_identifier[key] = device.id

    def _changed(self, kind: str, action: str, id: str, changes: Mapping[str, Any]) -> None:
        self.version += 1
        data: dict[str, Any] = {"action": action, f"{kind}_id": id, "changes": dict(changes)}
        if "entity_id" in changes:
            data["old_entity_id"] = changes["entity_id"]
        self._saved.changed()
        self._bus.fire(UPDATED.format(kind=kind), data)

    def _data(self) -> Any:
        found = {name: list(entries.values()) for name, entries in self._tables().values()}
        return msgspec.to_builtins(RegistryData(**found))

    def _tables(self) -> dict[str, tuple[str, Entries]]:
        return {
            "floor": ("floors", self.floors),
            "area": ("areas", self.areas),
            "label": ("labels", self.labels),
            "device": ("devices", self.devices),
            "entity": ("entities", self.entities),
        }

    def _entries(self, kind: str) -> Entries:
        return self._tables()[kind][1]


def _id(kind: str, entry: Any) -> str:
    return str(entry.entity_id if kind == "entity" else entry.id)


def _keys(source: str, identifiers: frozenset[str], connections: frozenset[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the keys of a device: its identifiers within its source, and its connections everywhere."""
    return {(source, each) for each in identifiers} | {(f"connection {kind}", value) for kind, value in connections}


def _name(text: str) -> str:
    name = clean(text)
    if name is None:
        raise InvalidRequest("name: expected a name, got nothing")
    return name


def _joined(device: str | None, name: str | None) -> str | None:
    """Return an entity's name prefixed with its device's, unless it already is."""
    if device is None or name is None:
        return device or name
    return name if name.casefold().startswith(device.casefold()) else f"{device} {name}"


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _free(slug: str, taken: Mapping[str, Any]) -> str:
    number, found = 1, slug
    while found in taken:
        number += 1
        found = f"{slug}_{number}"
    return found
