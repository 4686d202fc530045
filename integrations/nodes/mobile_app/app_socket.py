"""The WebSocket of a companion app, in Home Assistant's protocol as far as the apps use it.

Source: https://developers.home-assistant.io/docs/api/websocket
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson
from aiohttp import WSMsgType, web

from hub.core.errors import HubError, InvalidRequest, NotFound, Unauthorized
from hub.core.events import Event
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.states import EntityState
from hub.core.surfaces import ADMIN, Caller, HttpCall, Open, Route
from integrations.nodes.mobile_app.app_api import WIRE_VERSION, configuration, context_data, state_data
from integrations.nodes.mobile_app.app_push import AppPush, PushChannel

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.nodes.mobile_app.registration import MobileApp

MESSAGE_LIMIT_BYTES = 262_144
AUTH_LIMIT_S = 10.0
HEARTBEAT_S = 55.0
QUEUE_LIMIT = 2_048
"""Messages that wait for an app; one that does not read them is cut off."""
SUBSCRIPTIONS_LIMIT = 64
_EVENTS = "calendar/event/"
SLOW = frozenset({"call_service", *(f"{_EVENTS}{each}" for each in ("create", "update", "delete")), "todo/item/move"})
"""What may wait for something that this very app has to do, such as confirm a notification."""
UNDER_WAY_LIMIT = 16
TOLD_EVENTS = frozenset(
    {
        *("state_changed", "area_registry_updated", "device_registry_updated", "entity_registry_updated"),
        *("floor_registry_updated", "label_registry_updated", "service_registered", "service_removed"),
    }
)
"""Events that an app may hear; others may hold words that are not for it."""
DEVICE_KEYS = (
    *("id", "name", "name_by_user", "manufacturer", "model", "sw_version", "hw_version", "area_id"),
    *("via_device_id", "configuration_url"),
)
PASSIVE_EVENTS = frozenset(
    {"component_loaded", "core_config_updated", "lovelace_updated", "panels_updated", "themes_updated"}
)
"""Events of Home Assistant that nothing here fires: an app may listen, and hears nothing."""

Json = Mapping[str, Any]
Handler = Callable[[Json], Awaitable[Any]]


class OpenApps(Protocol):
    """The registrations, and their channels."""

    push: AppPush

    def by_webhook(self, webhook_id: str) -> MobileApp | None:
        """Return the registration with an address, or None."""


class AppSocket:
    """The route, and a connection for each request to it.

    Args:
        host: The hub.
        apps: The registrations, whose channels apps open.
    """

    def __init__(self, host: IntegrationHost, apps: OpenApps) -> None:
        self._host, self._apps = host, apps

    def route(self) -> Route:
        """Return the route."""
        return Route("GET", "/api/websocket", self._serve, self._host.domain, scope=Open.SELF, websocket=True)

    async def _serve(self, call: HttpCall) -> web.StreamResponse:
        ws: web.WebSocketResponse[Literal[True]] = web.WebSocketResponse(
            compress=False, max_msg_size=MESSAGE_LIMIT_BYTES, heartbeat=HEARTBEAT_S
        )
        await ws.prepare(call.request)
        await ws.send_json({"type": "auth_required", "ha_version": WIRE_VERSION})
        try:
            caller = await self._authenticate(call, ws)
        except HubError as error:
            await ws.send_json({"type": "auth_invalid", "message": error.message})
            await ws.close()
            return ws
        except (TimeoutError, ValueError, TypeError):
            await ws.close()
            return ws
        await ws.send_json({"type": "auth_ok", "ha_version": WIRE_VERSION})
        connection = _Connection(self._host, self._apps, ws, caller)
        try:
            await connection.serve()
        finally:
            connection.end()
        return ws

    async def _authenticate(self, call: HttpCall, ws: web.WebSocketResponse[Literal[True]]) -> Caller:
        async with asyncio.timeout(AUTH_LIMIT_S):
            said = json.loads(await ws.receive_str())
        token = said.get("access_token") if isinstance(said, dict) and said.get("type") == "auth" else None
        if not isinstance(token, str) or not token:
            raise Unauthorized(phrase("expected auth with an access_token"))
        return await self._host.credentials.check(call, token)


class _Connection:
    """One connection after its sign-in."""

    def __init__(
        self, host: IntegrationHost, apps: OpenApps, ws: web.WebSocketResponse[Literal[True]], caller: Caller
    ) -> None:
        self._host, self._apps, self._ws, self._caller = host, apps, ws, caller
        self._last_id = self._under_way = 0
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUE_LIMIT)
        self._subscriptions: dict[int, Callable[[], Any]] = {}
        self._links = frozenset({caller.credential_id, *caller.came_from})
        self._types: dict[str, Handler] = {
            "ping": self._ping,
            "supported_features": _nothing,
            "get_config": self._config,
            "get_states": self._states,
            "get_services": self._services,
            "get_panels": _panels,
            "auth/current_user": self._user,
            "call_service": self._call,
            **{f"{_EVENTS}{each}": self._event for each in ("create", "update", "delete")},
            "todo/item/move": self._move,
            "subscribe_events": self._events,
            "subscribe_entities": self._entities,
            "unsubscribe_events": self._unsubscribe,
            "config/area_registry/list": self._areas,
            "config/floor_registry/list": self._floors,
            "config/label_registry/list": self._labels,
            "config/device_registry/list": self._devices,
            "config/entity_registry/list": self._entries,
            "config/entity_registry/list_for_display": self._display,
            "config/entity_registry/get": self._entry,
            "mobile_app/push_notification_channel": self._channel,
            "mobile_app/push_notification_confirm": self._confirm,
        }

    async def serve(self) -> None:
        """Answer until the app goes."""
        writing = self._host.spawn(self._write(), name="write to an app")
        try:
            async for message in self._ws:
                if message.type is not WSMsgType.TEXT or not await self._take(message.data):
                    break
        finally:
            writing.cancel()

    def end(self) -> None:
        """End its subscriptions."""
        for undo in self._subscriptions.values():
            undo()
        self._subscriptions.clear()

    async def _write(self) -> None:
        while True:
            await self._ws.send_str((await self._queue.get()).decode())

    def _send(self, said: Json) -> None:
        try:
            self._queue.put_nowait(orjson.dumps(said, default=str))
        except asyncio.QueueFull:
            self._host.spawn(self._ws.close(message=b"reads too slowly"), name="cut off an app")

    async def _take(self, text: str) -> bool:
        """Answer a message; return whether the connection goes on."""
        if not self._host.methods.all_valid(self._links):
            return False
        try:
            said = json.loads(text)
            id, type = said["id"], said["type"]
            if isinstance(id, bool) or not isinstance(id, int) or not isinstance(type, str):
                raise TypeError("id")
        except (ValueError, KeyError, TypeError, RecursionError):
            self._send(
                {
                    "id": None,
                    "type": "result",
                    "success": False,
                    "error": _MALFORMED,
                }
            )
            return True
        if id <= self._last_id:
            self._refuse(id, "id_reuse", "Identifier values have to increase.")
            return True
        self._last_id = id
        handler = self._types.get(type)
        if handler is None:
            self._refuse(id, "unknown_command", "Unknown command.")
            return True
        if type in SLOW:
            if self._under_way >= UNDER_WAY_LIMIT:
                self._refuse(id, "home_assistant_error", phrase("wait for the answers to what was asked before"))
                return True
            self._under_way += 1
            self._host.spawn(self._answer(id, type, handler, said), name="a command of an app")
            return True
        await self._answer(id, type, handler, said)
        return True

    async def _answer(self, id: int, type: str, handler: Handler, said: Json) -> None:
        try:
            result = await handler(said)
        except HubError as error:
            code = _CODES.get(error.http_status, "home_assistant_error")
            self._refuse(id, "invalid_format" if isinstance(error, InvalidRequest) else code, error.message)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._refuse(id, "invalid_format", f"{type}: {error}"[:200])
        else:
            if result is not _ANSWERED:
                self._send({"id": id, "type": "result", "success": True, "result": result})
        finally:
            self._under_way -= type in SLOW

    def _refuse(self, id: int, code: str, message: str) -> None:
        self._send({"id": id, "type": "result", "success": False, "error": _error(code, message)})

    def _keep(self, id: int, undo: Callable[[], Any]) -> None:
        if len(self._subscriptions) >= SUBSCRIPTIONS_LIMIT:
            undo()
            raise InvalidRequest(phrase("an app may have {limit} subscriptions", limit=SUBSCRIPTIONS_LIMIT))
        self._subscriptions[id] = undo

    # --- what is asked ---

    async def _ping(self, said: Json) -> Any:
        self._send({"id": said["id"], "type": "pong"})
        return _ANSWERED

    async def _config(self, said: Json) -> Any:
        return configuration(self._host)

    async def _states(self, said: Json) -> Any:
        return [state_data(each) for each in self._host.states.machine.all()]

    async def _services(self, said: Json) -> Any:
        found: dict[str, dict[str, Any]] = {}
        for each in self._host.services.registry.all():
            told = {"name": each.name.replace("_", " ").capitalize(), "description": each.description}
            found.setdefault(each.domain, {})[each.name] = {**told, "fields": dict(each.fields)}
        return found

    async def _user(self, said: Json) -> Any:
        authority = self._caller.authority
        person = self._host.people.by_id(authority.person) if authority.person else None
        return {
            "id": authority.person or authority.principal,
            "name": person.name if person is not None else "Homarus",
            "is_owner": authority.owner,
            "is_admin": authority.has(ADMIN),
            "credentials": [{"auth_provider_type": "homarus", "auth_provider_id": None}],
            "mfa_modules": [],
        }

    async def _call(self, said: Json) -> Any:
        target = dict(said.get("target") or {})
        data = {**target, **(said.get("service_data") or {})}
        wants = bool(said.get("return_response"))
        answer = await self._do(f"{said['domain']}.{said['service']}", data)
        context = {"id": new_id(), "parent_id": None, "user_id": self._caller.authority.person}
        return {"context": context, **({"response": answer["response"]} if wants else {})}

    async def _do(self, service: str, data: Json) -> Any:
        params = {"service": service, "data": data, "idempotencyKey": new_id()}
        return await self._host.methods.call(self._caller, "service.call", params)

    async def _event(self, said: Json) -> Any:
        """Add, change or remove an event of a calendar, as the app's calendar does."""
        action = str(said["type"]).removeprefix(_EVENTS)
        data = {key: said[key] for key in ("entity_id", "uid", "recurrence_id", "recurrence_range") if key in said}
        if action != "delete":
            event = said["event"]
            kind = "date" if len(str(event["dtstart"])) == len("2026-11-30") else "date_time"
            data |= {f"start_{kind}": event["dtstart"], f"end_{kind}": event["dtend"]}
            data |= {key: event[key] for key in ("summary", "description", "location", "rrule") if event.get(key)}
        await self._do(f"calendar.{action}_event", data)
        return None

    async def _move(self, said: Json) -> Any:
        previous = {"previous_item": said["previous_uid"]} if said.get("previous_uid") else {}
        await self._do("todo.move_item", {"entity_id": said["entity_id"], "item": said["uid"], **previous})
        return None

    async def _events(self, said: Json) -> Any:
        id, type = said["id"], said.get("event_type")
        if type not in TOLD_EVENTS | PASSIVE_EVENTS:
            raise Unauthorized(phrase("an app may not listen to {event}", event=str(type)[:64]))

        def tell(event: Event) -> None:
            data = {
                key: state_data(value) if isinstance(value, EntityState) else value for key, value in event.data.items()
            }
            fired = datetime.fromtimestamp(event.time_fired, UTC).isoformat()
            shown = {"event_type": event.type, "data": data, "origin": "LOCAL", "time_fired": fired}
            self._send({"id": id, "type": "event", "event": {**shown, "context": context_data(event.context)}})

        self._keep(id, self._host.bus.listen(str(type), tell))
        return None

    async def _entities(self, said: Json) -> Any:
        id, wanted = said["id"], said.get("entity_ids")
        chosen = None if wanted is None else frozenset(map(str, wanted))

        def tell(event: Event) -> None:
            entity_id, now = event.data["entity_id"], event.data["new_state"]
            if chosen is not None and entity_id not in chosen:
                return
            if now is None:
                changed: dict[str, Any] = {"r": [entity_id]}
            elif event.data["old_state"] is None:
                changed = {"a": {entity_id: _compressed(now)}}
            else:
                gone = sorted(event.data["old_state"].attributes.keys() - now.attributes.keys())
                changed = {"c": {entity_id: {"+": _compressed(now), **({"-": {"a": gone}} if gone else {})}}}
            self._send({"id": id, "type": "event", "event": changed})

        self._keep(id, self._host.bus.listen("state_changed", tell))
        found = [each for each in self._host.states.machine.all() if chosen is None or each.entity_id in chosen]
        self._send({"id": id, "type": "result", "success": True, "result": None})
        self._send({"id": id, "type": "event", "event": {"a": {each.entity_id: _compressed(each) for each in found}}})
        return _ANSWERED

    async def _unsubscribe(self, said: Json) -> Any:
        undo = self._subscriptions.pop(said["subscription"], None)
        if undo is None:
            raise NotFound("Subscription not found.")
        undo()
        return None

    async def _areas(self, said: Json) -> Any:
        keys = ("floor_id",)
        more = {"icon": None, "picture": None}
        registry = self._host.entities.registry
        return [
            {"area_id": each.id, **_named(each), **more, **{key: getattr(each, key) for key in keys}}
            for each in registry.areas.values()
        ]

    async def _floors(self, said: Json) -> Any:
        floors = self._host.entities.registry.floors.values()
        shown = ({"floor_id": each.id, "name": each.name, "level": each.level, "icon": None} for each in floors)
        return [{**each, "aliases": []} for each in shown]

    async def _labels(self, said: Json) -> Any:
        labels = self._host.entities.registry.labels.values()
        more = {"color": None, "icon": None}
        return [{"label_id": each.id, "name": each.name, "description": each.description, **more} for each in labels]

    async def _devices(self, said: Json) -> Any:
        return [
            {
                **{key: getattr(each, key) for key in DEVICE_KEYS},
                "identifiers": sorted([each.source, id] for id in each.identifiers),
                "connections": sorted(map(list, each.connections)),
                "labels": sorted(each.labels),
                "serial_number": each.serial,
                "disabled_by": None,
                "entry_type": None,
                "config_entries": [],
                "config_entries_subentries": {},
                "primary_config_entry": None,
                "model_id": None,
                **_UNDATED,
            }
            for each in self._host.entities.registry.devices.values()
        ]

    async def _entries(self, said: Json) -> Any:
        return [self._shown(id) for id in self._host.entities.registry.entities]

    async def _entry(self, said: Json) -> Any:
        if said["entity_id"] not in self._host.entities.registry.entities:
            raise NotFound("Entity not found")
        return self._shown(said["entity_id"])

    def _shown(self, entity_id: str) -> dict[str, Any]:
        each = self._host.entities.registry.entities[entity_id]
        category = each.entity_category
        return {
            "entity_id": each.entity_id,
            "id": each.unique_id,
            "unique_id": each.unique_id,
            "platform": each.source,
            "device_id": each.device_id,
            "area_id": each.area_id,
            "name": each.name,
            "original_name": each.original_name,
            "icon": each.shown_icon,
            "labels": sorted(each.labels),
            "hidden_by": "user" if each.hidden else None,
            "disabled_by": "user" if each.disabled else None,
            "entity_category": category,
            "has_entity_name": not each.is_full_name,
            "config_entry_id": None,
            "config_subentry_id": None,
            "translation_key": None,
            "categories": {},
            "options": {},
            **_UNDATED,
        }

    async def _display(self, said: Json) -> Any:
        kinds = {"config": 0, "diagnostic": 1}
        shown = []
        for each in self._host.entities.registry.entities.values():
            if each.disabled:
                continue
            row: dict[str, Any] = {
                "ei": each.entity_id,
                "pl": each.source,
                "di": each.device_id,
                "ai": each.area_id,
                "ic": each.shown_icon,
            }
            row |= {"ec": kinds.get(each.entity_category or ""), "en": each.name or each.original_name}
            row |= {"hb": True if each.hidden else None, "lb": sorted(each.labels)}
            row |= {"hn": True if not each.is_full_name else None}
            shown.append({key: value for key, value in row.items() if value is not None})
        return {"entity_categories": {"0": "config", "1": "diagnostic"}, "entities": shown}

    # --- local push ---

    async def _channel(self, said: Json) -> Any:
        id, app_id = said["id"], self._own_app(said)
        confirms = said.get("support_confirm", False)
        if not isinstance(confirms, bool):
            raise InvalidRequest("support_confirm: expected true or false")

        def send(event: Json) -> None:
            self._send({"id": id, "type": "event", "event": event})

        self._keep(id, self._apps.push.open(app_id, PushChannel(send, confirms=confirms)))
        return None

    async def _confirm(self, said: Json) -> Any:
        channel = self._apps.push.channels.get(self._own_app(said))
        if channel is None or not channel.confirm(str(said["confirm_id"])):
            raise NotFound("Push notification channel not found")
        return None

    def _own_app(self, said: Json) -> str:
        app = self._apps.by_webhook(str(said["webhook_id"]))
        if app is None:
            raise NotFound("Webhook ID not found")
        if app.principal != self._caller.authority.principal:
            raise Unauthorized("User not linked to this webhook ID")
        return app.id


_UNDATED = {"created_at": 0.0, "modified_at": 0.0}
"""The registries keep no dates."""
_MALFORMED = {"code": "invalid_format", "message": "Message incorrectly formatted."}
_CODES = {401: "unauthorized", 403: "unauthorized", 404: "not_found"}
_ANSWERED = object()
"""What a handler returns that has answered by itself."""


async def _nothing(said: Json) -> Any:
    return None


async def _panels(said: Json) -> Any:
    """The dashboard is the only page, and shows its own navigation."""
    panel = {"component_name": "lovelace", "icon": None, "title": None, "config": {"mode": "storage"}}
    return {"lovelace": {**panel, "url_path": "lovelace", "require_admin": False, "config_panel_domain": None}}


def _error(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}


def _named(area: Any) -> dict[str, Any]:
    return {"name": area.name, "aliases": list(area.aliases), "labels": sorted(area.labels)}


def _compressed(state: EntityState) -> dict[str, Any]:
    shown = {"s": state.state, "a": dict(state.attributes), "c": state.context.id, "lc": state.last_changed}
    return shown if state.last_updated == state.last_changed else {**shown, "lu": state.last_updated}
