"""`entities.*` and `areas.*`: devices, entities and their places, and people's decisions about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import asdict

from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    entity_id,
    integer,
    string,
)
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.entities.entities import HomeEntities
from hub.entities.entries import EntityEntry
from hub.entities.new_devices import accept, new_ones
from hub.entities.targets import Targets
from hub.storage.history import HistoryStore

OWNER = "gateway"
HISTORY_LIMIT = 5_000
"""Points of one history."""
_HOURS_LIMIT = 24 * 31

_TEXT = All(string, Length(min=1, max=128))
_MAYBE = AnyOf(None, All(string, Length(max=128)))
_MANY = All([_TEXT], Length(max=50))
_KIND = In(("area", "floor", "label", "device"))
_FIELDS: Mapping[str, frozenset[str]] = {
    "area": frozenset({"name", "floor_id", "aliases", "labels"}),
    "floor": frozenset({"name", "level", "aliases"}),
    "label": frozenset({"name", "description"}),
    "device": frozenset({"name_by_user", "area_id", "labels"}),
}
_PLACE: Mapping[Any, Any] = {
    Optional("floor_id", description="The floor of an area."): _MAYBE,
    Optional("level", description="The number of a floor; 0 is the ground floor."): AnyOf(
        None, All(integer, Range(-50, 200))
    ),
    Optional("aliases", description="Further names of an area or a floor."): _MANY,
    Optional("labels", description="Labels of an area or a device."): _MANY,
    Optional("description", description="What a label means."): _MAYBE,
}
_LIST = Schema(
    {
        Optional("domain", description="Those of one domain."): _TEXT,
        Optional("area_id", description="Those of one area."): _TEXT,
        Optional("device_id", description="Those of one device."): _TEXT,
    }
)
_UPDATE = Schema(
    {
        Required("entity_id"): entity_id,
        Optional("new_entity_id", description="A new id of the same domain."): entity_id,
        Optional("name", description="Its name; empty for that of its device."): _MAYBE,
        Optional("area_id", description="Its area; empty for that of its device."): _MAYBE,
        Optional("icon", description="Its icon, such as mdi:fan; empty for its own."): AnyOf(
            None, All(string, Match(r"^([a-z0-9-]{1,64}:[a-z0-9-]{1,64})?$", msg="expected an icon such as mdi:fan"))
        ),
        Optional("labels"): _MANY,
        Optional("aliases", description="Further names by which people call it."): _MANY,
        Optional("hidden", description="Whether it is left out where an area is meant."): boolean,
        Optional("disabled", description="Whether it has no state."): boolean,
        Optional("exposed", description="Whether agents see and control it; none for the default."): AnyOf(
            None, boolean
        ),
    }
)
_ACCEPT = Schema(
    {
        Optional("ids", description="Devices, and entities without one; all that are new without it."): All(
            [_TEXT], Length(min=1, max=1_000)
        )
    }
)
_HISTORY = Schema(
    {
        Required("entity_id"): entity_id,
        Optional("hours", default=24): All(integer, Range(min=1, max=_HOURS_LIMIT)),
    }
)


class EntityMethods:
    """The methods about entities and places.

    Args:
        entities: All that integrations have added, with their registry.
        targets: Finds the entities of places and devices.
        history: Has earlier states.
        wall_time: Seconds since the epoch.
    """

    def __init__(
        self, entities: HomeEntities, targets: Targets, history: HistoryStore, wall_time: Callable[[], float]
    ) -> None:
        self._entities, self._targets, self._history, self._wall_time = entities, targets, history, wall_time
        self._registry = entities.registry

    def methods(self) -> list[Method]:
        """Return the methods."""
        make = Schema({Required("kind"): In(("area", "floor", "label")), Required("name"): _TEXT, **_PLACE})
        change = {Required("kind"): _KIND, Required("id"): _TEXT, Optional("name"): _MAYBE, Optional("area_id"): _MAYBE}
        one = Schema({Required("kind"): _KIND, Required("id"): _TEXT})
        return [
            Method("entities.list", self._list, OWNER, _LIST, READ),
            Method("entities.history", self._past, OWNER, _HISTORY, READ),
            Method("entities.new", self._new, OWNER, Schema({}), READ),
            Method("entities.accept", self._accept, OWNER, _ACCEPT, ADMIN, acts=True),
            Method("entities.update", self._update, OWNER, _UPDATE, ADMIN, acts=True),
            Method(
                "entities.remove", self._remove, OWNER, Schema({Required("entity_id"): entity_id}), ADMIN, acts=True
            ),
            Method("areas.list", self._places, OWNER, Schema({}), READ),
            Method("areas.create", self._create, OWNER, make, ADMIN, acts=True),
            Method("areas.update", self._change, OWNER, Schema({**change, **_PLACE}), ADMIN, acts=True),
            Method("areas.remove", self._delete, OWNER, one, ADMIN, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        found = list(self._registry.entities.values())
        if "area_id" in call.params:
            found = self._targets.of_area(self._registry.require("area", call.params["area_id"]).id)
        if "device_id" in call.params:
            device = self._registry.require("device", call.params["device_id"]).id
            found = [each for each in found if each.device_id == device]
        if "domain" in call.params:
            found = [each for each in found if each.domain == call.params["domain"]]
        return {"entities": [self._shown(each) for each in sorted(found, key=lambda each: each.entity_id)]}

    async def _past(self, call: MethodCall) -> Mapping[str, Any]:
        id, now = call.params["entity_id"], self._wall_time()
        since = now - 3600 * call.params["hours"]
        rows = await self._history.states_of(id, since, now, limit=HISTORY_LIMIT)
        points = [{"time": each["time"], "state": each["state"]} for each in rows]
        return {"entity_id": id, "since": since, "until": now, "points": points}

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        changes = {key: value for key, value in call.params.items() if key not in ("entity_id", "new_entity_id")}
        if "new_entity_id" in call.params:
            changes["entity_id"] = call.params["new_entity_id"]
        if "icon" in changes:
            changes["icon_by_user"] = changes.pop("icon")
        changes |= {key: changes[key] or None for key in ("area_id", "name", "icon_by_user") if key in changes}
        entry = self._registry.update("entity", call.params["entity_id"], **changes)
        await self._registry.flush()
        return {"entity": self._shown(entry)}

    async def _new(self, call: MethodCall) -> Mapping[str, Any]:
        return {"new": [{"id": id, "name": name} for id, name in new_ones(self._registry).items()]}

    async def _accept(self, call: MethodCall) -> Mapping[str, Any]:
        ids = call.params.get("ids") or new_ones(self._registry)
        names = [accept(self._registry, id) for id in ids]
        await self._registry.flush()
        return {"accepted": names}

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        id = call.params["entity_id"]
        entry = self._registry.require("entity", id)
        if self._entities.get(id) is not None:
            raise Conflict(f"{entry.source} has {id} now; disable or hide it, or remove it there")
        self._registry.remove("entity", id)
        await self._registry.flush()
        return {"removed": id}

    async def _places(self, call: MethodCall) -> Mapping[str, Any]:
        registry = self._registry
        return {
            "floors": [_plain(each) for each in registry.floors.values()],
            "areas": [
                {**_plain(each), "entities": len(self._targets.of_area(each.id))} for each in registry.areas.values()
            ],
            "labels": [_plain(each) for each in registry.labels.values()],
            "devices": [
                {**_plain(each), "shown_name": each.shown_name, "entities": len(self._targets.of_device(each.id))}
                for each in registry.devices.values()
            ],
        }

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        entry = self._registry.create(call.params["kind"], call.params["name"], **_fields(call.params))
        await self._registry.flush()
        return {call.params["kind"]: _plain(entry)}

    async def _change(self, call: MethodCall) -> Mapping[str, Any]:
        entry = self._registry.update(call.params["kind"], call.params["id"], **_fields(call.params))
        await self._registry.flush()
        return {call.params["kind"]: _plain(entry)}

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        kind, id = call.params["kind"], call.params["id"]
        if kind == "device" and any(self._entities.get(each.entity_id) for each in self._targets.of_device(id)):
            raise Conflict(f"{self._registry.require('device', id).source} has this device now; remove it there")
        self._registry.remove(kind, id)
        await self._registry.flush()
        return {"removed": id}

    def _shown(self, entry: EntityEntry) -> dict[str, Any]:
        area, state = self._registry.area_of(entry), self._entities.states.get(entry.entity_id)
        device = self._registry.devices.get(entry.device_id or "")
        handle = self._entities.get(entry.entity_id)
        return {
            **_plain(entry),
            "icon": entry.shown_icon,
            "shown_name": self._registry.name_of(entry),
            "domain": entry.domain,
            "area": area.name if area is not None else None,
            "device": device.shown_name if device is not None else None,
            "is_exposed": entry.is_exposed,
            "state": state.state if state is not None else None,
            "unit": state.attributes.get("unit_of_measurement") if state is not None else None,
            "commands": sorted(handle.commands) if handle is not None else [],
        }


def _plain(entry: Any) -> dict[str, Any]:
    """Return an entry as JSON."""
    return {key: sorted(each) if isinstance(each, frozenset) else each for key, each in asdict(entry).items()}


def _fields(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed fields of a place.

    Raises:
        InvalidRequest: Its kind has no such field.
    """
    kind = params["kind"]
    found = {key: value for key, value in params.items() if key not in ("kind", "id")}
    if "id" not in params:
        found.pop("name")
    elif kind == "device" and "name" in found:
        found["name_by_user"] = found.pop("name")
    if wrong := sorted(found.keys() - _FIELDS[kind]):
        raise InvalidRequest(f"{', '.join(wrong)}: not of a {kind}; expected {', '.join(sorted(_FIELDS[kind]))}")
    return {key: value or None if key.endswith("_id") else value for key, value in found.items()}
