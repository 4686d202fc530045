"""Mirrors the entities of a Home Assistant, for as long as it can be reached."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp

from hub.core.errors import HubError, InvalidRequest, LimitExceeded, Unauthorized, Unavailable
from hub.core.phrases import phrase
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.domains import ANSWERING, DOMAINS
from hub.entities.entities import Command, EntityHandle
from hub.entities.pictures import PATHS, PICTURE_LIMIT_BYTES, Picture, TakePicture, picture_path
from hub.integration.json_storage import JsonStorage
from hub.security.egress_body import read_body
from integrations.devices.home_assistant.services import TheirServices
from integrations.devices.home_assistant.socket import HomeAssistantSocket, connect_and_sign_in

if TYPE_CHECKING:
    from hub.host import IntegrationHost

SOURCE = "home_assistant"
RETRY_FIRST_S, RETRY_LIMIT_S = 2.0, 10.0
SETTLE_S = 1.0
"""Changes of its registries within this time are read together."""
_REGISTRIES = ("floor", "area", "label", "device", "entity")
_SHOWN = frozenset({"friendly_name", "device_class", "unit_of_measurement", "icon"})
_PICTURE = frozenset({"entity_picture", "access_token"})
"""Where its pictures are there, and a key to them: ours are where the hub serves them."""
_BROKEN = (aiohttp.ClientError, OSError, HubError, TimeoutError, ValueError, LookupError, TypeError, AttributeError)
MQTT = "mqtt"
_SATELLITES: Mapping[str, Sequence[str]] = {"assist_satellite": ("announce", "start_conversation")}
"""Services of its satellites, which are not among those of domains here: the hub has satellites of its own."""
_NAMING = frozenset({"update_item", "remove_item"})
"""Services of lists that name items which are there."""
_OURS = frozenset({"automation", "script", "person"})
"""Domains whose states the hub believes to be its own."""
_log = logging.getLogger(__name__)


class HomeAssistantBridge:
    """The connection, and the entities behind it.

    Args:
        host: The registry of the integration.
        config: `url`, `token` and `entities`.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any]) -> None:
        self._host = host
        self._url, self._token = config["url"], config["token"]
        self._only_exposed = config["entities"] == "exposed"
        self._socket: HomeAssistantSocket | None = None
        self._handles: dict[str, EntityHandle] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._changed = asyncio.Event()
        self._services = TheirServices(host, self._call_theirs, self._theirs)

    async def run(self) -> None:
        """Reconnect until the token is refused."""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                async with connect_and_sign_in(self._url, self._token.reveal()) as socket:
                    self._host.repairs.clear(SOURCE)
                    pause_s = RETRY_FIRST_S
                    await self._serve(socket)
                reason = "the connection ended"
            except Unauthorized:
                self._trouble(
                    phrase("Home Assistant refuses the token"),
                    phrase("Make a long-lived access token there and write it to home_assistant: token."),
                )
                return
            except _BROKEN as error:
                reason = str(error) or type(error).__name__
            finally:
                self._socket = None
                for handle in self._handles.values():
                    handle.available(False)
            _log.warning("Home Assistant at %s: %s", self._url, reason)
            told = phrase("{url}: {reason}", url=self._url, reason=reason)
            self._trouble(phrase("Home Assistant cannot be reached"), told)
            await self._host.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_LIMIT_S)

    def _trouble(self, title: str, text: str) -> None:
        self._host.repairs.raise_(SOURCE, "connection", title, text)

    async def _serve(self, socket: HomeAssistantSocket) -> None:
        """Keep up with it until the connection ends."""
        both = {asyncio.create_task(socket.listen()), asyncio.create_task(self._follow(socket))}
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _follow(self, socket: HomeAssistantSocket) -> None:
        self._states = {}
        self._changed.clear()
        for each in _REGISTRIES:
            name = f"{each}_registry_updated"
            await socket.ask("subscribe_events", event_type=name, heard=lambda _: self._changed.set())
        await self._services.follow(socket, self._changed.set)
        await socket.ask("subscribe_entities", heard=self._heard)
        self._socket = socket
        await self._changed.wait()
        while True:
            self._changed.clear()
            await self._read(socket)
            await self._changed.wait()
            await self._host.clock.sleep(SETTLE_S)

    async def _read(self, socket: HomeAssistantSocket) -> None:
        """Read its registries and services, and add, update and remove entities."""
        await self._services.read(socket)
        floors, areas, labels, devices, entities = [await self._listed(socket, each) for each in _REGISTRIES]
        exposed = await self._exposed(socket)
        ours = self._label(labels)
        self._place(areas, floors, ours)
        ours_by_mqtt = await self._heard_here()
        here = {id for id, device in devices.items() if not ours_by_mqtt.isdisjoint(_mqtt_identifiers(device))}
        wanted = {
            id
            for id in self._states
            if id.partition(".")[0] not in _OURS
            and (not self._only_exposed or id in exposed)
            and entities.get(id, {}).get("device_id") not in here
        }
        for id in self._handles.keys() - wanted:
            self._handles.pop(id).remove()
        for id in sorted(wanted):
            try:
                self._describe(id, entities.get(id, {}), devices, areas, ours, is_exposed=id in exposed)
            except LimitExceeded as error:
                _log.error("not all entities of Home Assistant came: %s", error.message)
                return
            except HubError as error:
                _log.warning("an entity of Home Assistant did not come: %s", error.message)

    async def _heard_here(self) -> set[str]:
        """Return the MQTT identifiers of this hub, and of devices that are connected to both."""
        registry, states = self._host.entities.registry, self._host.states
        shown = {each.device_id for id, each in registry.entities.items() if states.get(id) is not None}
        found = {
            identifier
            for id, each in registry.devices.items()
            if each.source == MQTT and id in shown
            for identifier in each.identifiers
        }
        with suppress(HubError, LookupError, TypeError):  # there is no MQTT here
            kept = await JsonStorage(
                self._host.home.storage / "integrations" / MQTT / "client.json", self._host.home.documents
            ).load({})
            found.add(kept["id"])
        return found

    async def _listed(self, socket: HomeAssistantSocket, kind: str) -> dict[str, Any]:
        try:
            items = await socket.ask(f"config/{kind}_registry/list")
        except InvalidRequest:
            if kind != "label":  # unknown before 2024.4
                raise
            items = []
        return {str(each.get(f"{kind}_id") or each.get("id")): each for each in items}

    async def _exposed(self, socket: HomeAssistantSocket) -> set[str]:
        """Return the entities that its Assist may see."""
        answer = await socket.ask("homeassistant/expose_entity/list")
        listed: Mapping[str, Any] = answer.get("exposed_entities") or {}
        return {id for id, by in listed.items() if isinstance(by, Mapping) and by.get("conversation")}

    def _label(self, labels: Mapping[str, Any]) -> dict[str, str]:
        """Mirror its labels; return our ids by its own."""
        registry = self._host.entities.registry
        ours = {each.name.casefold(): each.id for each in registry.labels.values()}
        found: dict[str, str] = {}
        for id, label in labels.items():
            name = str(label.get("name") or "")
            try:
                if name.casefold() not in ours:
                    made = registry.create("label", name, description=_text(label.get("description")))
                    ours[name.casefold()] = made.id
                found[id] = ours[name.casefold()]
            except HubError as error:
                _log.warning("a label of Home Assistant did not come: %s", error.message)
        return found

    def _place(self, areas: Mapping[str, Any], floors: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        """Mirror its areas and floors; existing ones keep people's decisions."""
        registry = self._host.entities.registry
        known = {each.name.casefold() for each in registry.areas.values()}
        by_name = {each.name.casefold(): each.id for each in registry.floors.values()}
        for area in areas.values():
            name, floor = str(area.get("name") or ""), floors.get(str(area.get("floor_id")))
            if not name.strip() or name.casefold() in known:
                continue
            fields: dict[str, Any] = {}
            try:
                if floor is not None:
                    title = str(floor["name"])
                    if title.casefold() not in by_name:
                        by_name[title.casefold()] = registry.create("floor", title, level=_level(floor)).id
                    fields["floor_id"] = by_name[title.casefold()]
                registry.create(
                    "area", name, aliases=list(area.get("aliases") or ()), labels=_labels(area, labels), **fields
                )
            except HubError as error:
                _log.warning("an area of Home Assistant did not come: %s", error.message)

    def _describe(
        self,
        id: str,
        entry: Mapping[str, Any],
        devices: Mapping[str, Any],
        areas: Mapping[str, Any],
        labels: Mapping[str, str],
        *,
        is_exposed: bool,
    ) -> None:
        domain, _, object_id = id.partition(".")
        attributes = self._states[id]["a"]
        device = devices.get(str(entry.get("device_id")))
        area = areas.get(str(entry.get("area_id") or (device or {}).get("area_id")))
        description = EntityDescription(
            domain,
            str(entry.get("id") or id),
            str(attributes.get("friendly_name") or object_id.replace("_", " ")),
            object_id,
            None if device is None else _device(device, area),
            device_class=_text(attributes.get("device_class")),
            unit=_text(attributes.get("unit_of_measurement")),
            icon=_text(attributes.get("icon")),
            entity_category=_text(entry.get("entity_category")),
            attributes={key: attributes[key] for key in ("supported_features",) if key in attributes},
            is_full_name=True,
            picture=self._picture(id),
        )
        handle = self._handles.get(id)
        if handle is not None:
            handle.update(description, handle.commands)
            return
        registry = self._host.entities.registry
        is_new = registry.entity_id_of(SOURCE, description.unique_id) is None
        handle = self._handles[id] = self._host.entities.add(description, self._commands(id), SOURCE)
        handle.refresh = partial(self.call, "homeassistant", "update_entity", {"entity_id": id}, {})
        if is_new:
            own = _labels(entry, labels)
            device_id = registry.update("entity", handle.entity_id, exposed=is_exposed, labels=own).device_id
            if device_id is not None and not registry.devices[device_id].labels:
                registry.update("device", device_id, labels=_labels(device or {}, labels))
            if device is None and area is not None:
                self._put(handle, str(area.get("name")))
        self._show(id)

    def _put(self, handle: EntityHandle, area: str) -> None:
        registry = self._host.entities.registry
        found = next((each.id for each in registry.areas.values() if each.name.casefold() == area.casefold()), None)
        if found is not None:
            registry.update("entity", handle.entity_id, area_id=found)

    def _commands(self, id: str) -> dict[str, Command]:
        domain = id.partition(".")[0]
        services = (*_SATELLITES.get(domain, ()), *DOMAINS.get(domain, ()))
        return {service: self._command(id, domain, service) for service in services}

    def _command(self, id: str, domain: str, service: str) -> Command:
        async def run(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
            if domain == "todo" and service in _NAMING:
                data = await self._as_written(id, data)
            answers = (domain, service) in ANSWERING
            told = await self.call(domain, service, data, {"entity_id": id}, answers=answers)
            return told.get(id) if isinstance(told, Mapping) else None

        return run

    async def _as_written(self, id: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data with the items of a list as they are written there, since people do not say capitals."""
        told = await self.call("todo", "get_items", {}, {"entity_id": id}, answers=True)
        items = (told.get(id) or {}).get("items") or () if isinstance(told, Mapping) else ()
        written = {text.casefold(): text for each in items if (text := str(each.get("summary")))}
        said = data["item"]
        names = [written.get(each.casefold(), each) for each in ([said] if isinstance(said, str) else said)]
        return {**data, "item": names[0] if isinstance(said, str) else names}

    def _picture(self, id: str) -> TakePicture | None:
        domain = id.partition(".")[0]
        if domain not in PATHS:
            return None

        async def take() -> Picture:
            headers = {"Authorization": f"Bearer {self._token.reveal()}"}
            url = f"{self._url}{PATHS[domain]}/{id}"
            async with self._host.egress.open(url, headers=headers, named=self._url) as answer:
                data = await read_body(answer.content.iter_any(), "", PICTURE_LIMIT_BYTES)
                if answer.status != 200:
                    raise Unavailable(phrase("Home Assistant has no picture of {entity} now", entity=id))
                return Picture(data, answer.content_type)

        return take

    async def call(
        self, domain: str, service: str, data: Mapping[str, Any], target: Mapping[str, Any], *, answers: bool = False
    ) -> Any:
        """Call a service of Home Assistant and return its response, if it has one.

        Args:
            answers: Whether it only returns a response.

        Raises:
            Unavailable: It cannot be reached.
            InvalidRequest: It refused.
        """
        if self._socket is None:
            raise Unavailable("Home Assistant cannot be reached now")
        call: dict[str, Any] = {"service_data": dict(data), "target": dict(target)}
        if answers:
            call["return_response"] = True
        return (await self._socket.ask("call_service", domain=domain, service=service, **call) or {}).get("response")

    async def _call_theirs(self, domain: str, service: str, data: Mapping[str, Any], answers: bool) -> Any:
        return await self.call(domain, service, data, {}, answers=answers)

    def _theirs(self) -> dict[str, str]:
        """Return the ids of entities and devices there, by their ids here."""
        devices = self._host.entities.registry.devices.values()
        return {
            **{each.id: next(iter(each.identifiers)) for each in devices if each.source == SOURCE and each.identifiers},
            **{handle.entity_id: id for id, handle in self._handles.items()},
        }

    def _heard(self, event: Mapping[str, Any]) -> None:
        """Handle states in Home Assistant's compressed form: added, changed, removed."""
        if "a" in event:
            self._changed.set()
        for id, state in _items(event.get("a")):
            self._states[id] = {"s": str(state.get("s", "")), "a": dict(state.get("a") or {})}
            self._show(id)
        for id, change in _items(event.get("c")):
            kept = self._states.get(id)
            if kept is None:
                continue
            added, gone = change.get("+") or {}, change.get("-") or {}
            kept["s"] = str(added.get("s", kept["s"]))
            kept["a"] = {key: each for key, each in kept["a"].items() if key not in (gone.get("a") or ())}
            kept["a"].update(added.get("a") or {})
            self._show(id)
        for id in event.get("r") or ():
            self._states.pop(id, None)
            if (handle := self._handles.pop(id, None)) is not None:
                handle.remove()

    def _show(self, id: str) -> None:
        handle = self._handles.get(id)
        if handle is None:
            return
        state = self._states[id]
        handle.available(state["s"] != "unavailable")
        if state["s"] != "unavailable":
            has_picture = id.partition(".")[0] in PATHS
            hidden = _SHOWN | _PICTURE if has_picture else _SHOWN
            shown = {key: value for key, value in state["a"].items() if key not in hidden}
            if has_picture and state["a"].get("entity_picture"):
                shown["entity_picture"] = picture_path(handle.entity_id)
            handle.set(state["s"][:255], shown)


def _items(value: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return [(id, each) for id, each in value.items() if isinstance(each, Mapping)] if isinstance(value, Mapping) else []


def _device(device: Mapping[str, Any], area: Mapping[str, Any] | None) -> DeviceInfo:
    return DeviceInfo(
        frozenset({str(device["id"])}),
        name=_text(device.get("name_by_user")) or _text(device.get("name")),
        manufacturer=_text(device.get("manufacturer")),
        model=_text(device.get("model")),
        sw_version=_text(device.get("sw_version")),
        hw_version=_text(device.get("hw_version")),
        via_device=_text(device.get("via_device_id")),
        suggested_area=_text(area.get("name")) if area is not None else None,
    )


def _mqtt_identifiers(device: Mapping[str, Any]) -> set[str]:
    return {str(each[1]) for each in device.get("identifiers") or () if len(each) == 2 and each[0] == MQTT}


def _labels(entry: Mapping[str, Any], ours: Mapping[str, str]) -> list[str]:
    """Return the labels of an entity, as our ids."""
    said = entry.get("labels")
    return [ours[each] for each in said if each in ours] if isinstance(said, list) else []


def _level(floor: Mapping[str, Any]) -> int | None:
    level = floor.get("level")
    return level if isinstance(level, int) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
