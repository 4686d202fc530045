"""One registered program's address: each request is a `type` with `data`, done with the rights of its registration."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import web
from msgspec.structs import replace

from hub.core.context import Context
from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded
from hub.core.extras import install_command
from hub.core.ids import new_id
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, Length, Optional, Required, Schema, SchemaError, describe_error
from hub.core.surfaces import HttpCall
from hub.gateway.connection.server import json_response
from hub.nodes.shown import EVENT_ACTION, EVENT_CLEARED
from integrations.nodes.mobile_app.app_api import configuration, state_data
from integrations.nodes.mobile_app.entities import LOCATION, SENSOR, SENSOR_STATE, AppEntities, device_of
from integrations.nodes.mobile_app.registration import SHOWN, UPDATE, MobileApp
from integrations.nodes.mobile_app.sealed import new_key, seal, unseal

if TYPE_CHECKING:
    from hub.host import IntegrationHost

PER_MINUTE = 120
SENSORS_LIMIT = 200
TEMPLATES_LIMIT = 20
CONVERSATION_LIMIT_MS = 120_000

_NAME = All(str, Length(min=1, max=128))
_DATA = AnyOf(None, dict)
_SERVICE = Schema({Required("domain"): _NAME, Required("service"): _NAME, Optional("service_data"): _DATA})
_EVENT = Schema({Required("event_type"): _NAME, Optional("event_data"): _DATA})
_TEMPLATE = Schema({Required("template"): str, Optional("variables"): _DATA})
_TEMPLATES = Schema(All({_NAME: _TEMPLATE}, Length(max=TEMPLATES_LIMIT)))
_SPOKEN = Schema({Required("text"): All(str, Length(min=1, max=20_000))}, extra=REMOVE_EXTRA)
_TAG = Schema({Required("tag_id"): _NAME}, extra=REMOVE_EXTRA)
_NOTHING: dict[str, Any] = {}


class AppStore(Protocol):
    """The store of the registrations."""

    def get(self, id: str) -> tuple[MobileApp, AppEntities]:
        """Return a registration, and its entities."""

    async def change(self, app: MobileApp) -> None:
        """Keep a registration as it is now."""

    async def end(self, id: str) -> None:
        """Forget a registration."""


class _Failed(Exception):
    """A request that is answered as Home Assistant answers it: 400, with a code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AppWebhook:
    """The address of one registration.

    Args:
        host: Carries out the requests.
        apps: Keeps the registrations.
        id: Of this one.
    """

    def __init__(self, host: IntegrationHost, apps: AppStore, id: str) -> None:
        self._host, self._apps, self._id = host, apps, id
        self._calls: deque[float] = deque(maxlen=PER_MINUTE)
        self._types: dict[str, Callable[[HttpCall, Any], Awaitable[Any]]] = {
            "update_location": self._locate,
            "register_sensor": self._add_sensor,
            "update_sensor_states": self._report,
            "call_service": self._service,
            "fire_event": self._event,
            "render_template": self._render,
            "conversation_process": self._converse,
            "update_registration": self._update,
            "enable_encryption": self._encrypt,
            "get_zones": self._zones,
            "get_config": self._config,
            "scan_tag": self._scan,
        }

    async def receive(self, call: HttpCall) -> web.StreamResponse:
        """`POST /api/webhook/<webhook_id>`."""
        app, _ = self._apps.get(self._id)
        if not self._host.methods.all_valid(app.links):
            await self._apps.end(self._id)
            return web.Response(status=410)
        self._count()
        try:
            request = json.loads(call.body or b"{}")
            if not isinstance(request, dict):
                raise InvalidRequest("expected a JSON object with type and data")
            if "_type" in request:  # OwnTracks in its HTTP mode
                return await self._owntracks(call, request)
            kind, data = self._opened(app, request)
            handler = self._types.get(kind)
            if handler is None:
                raise InvalidRequest(f"type: expected one of {', '.join(self._types)}; got {str(kind)[:60]!r}")
            answer = await handler(call, data)
        except (ValueError, RecursionError) as error:
            return _refused("invalid_format", str(error) or "this is not JSON")
        except _Failed as error:
            return _refused(error.code, str(error))
        except SchemaError as error:
            return _refused("invalid_format", describe_error(error))
        except HubError as error:
            if error.http_status >= 500:
                raise
            return _refused(error.code.lower(), error.message, error.http_status)
        status = 201 if kind == "register_sensor" else 200
        if request.get("encrypted"):
            answer = {"encrypted": True, "encrypted_data": seal(app.secret, answer)}
        return json_response(answer, status=status)

    def _count(self) -> None:
        now = self._host.clock.monotonic()
        if len(self._calls) == PER_MINUTE and now - self._calls[0] < 60:
            raise LimitExceeded(f"this device may send {PER_MINUTE} requests a minute", retry_after_s=5)
        self._calls.append(now)

    def _opened(self, app: MobileApp, request: Mapping[str, Any]) -> tuple[Any, Any]:
        kind = request.get("type")
        if kind == "encrypted" or request.get("encrypted"):
            if not app.secret:
                raise _Failed("encryption_not_enabled", "this registration has no key; send enable_encryption first")
            opened = unseal(app.secret, str(request.get("encrypted_data", "")))
            if kind == "encrypted":
                return opened.get("type"), opened.get("data")
            return kind, opened
        if app.secret:
            raise _Failed("encryption_required", "this registration is encrypted; so is each of its requests")
        return kind, request.get("data")

    async def _owntracks(self, call: HttpCall, said: Mapping[str, Any]) -> web.StreamResponse:
        if said["_type"] == "location":
            known = {"gps_accuracy": "acc", "battery": "batt", "speed": "vel", "altitude": "alt", "course": "cog"}
            place = {name: said[key] for name, key in known.items() if key in said}
            await self._locate(call, {"gps": [said.get("lat"), said.get("lon")], **place})
        return json_response([])

    async def _locate(self, call: HttpCall, data: Any) -> Any:
        app, entities = self._apps.get(self._id)
        entities.locate(app, LOCATION(data), app.caller(call.address).authority)
        return _NOTHING

    async def _add_sensor(self, call: HttpCall, data: Any) -> Any:
        app, entities = self._apps.get(self._id)
        sensor = SENSOR(data)
        kept = {key: value for key, value in sensor.items() if key not in ("state", "attributes") and value is not None}
        if sensor["unique_id"] not in app.sensors and len(app.sensors) >= SENSORS_LIMIT:
            raise LimitExceeded(f"this device has {SENSORS_LIMIT} sensors already")
        entities.add(app, sensor)
        if app.sensors.get(sensor["unique_id"]) != kept:
            await self._apps.change(replace(app, sensors={**app.sensors, sensor["unique_id"]: kept}))
        return {"success": True}

    async def _report(self, call: HttpCall, data: Any) -> Any:
        app, entities = self._apps.get(self._id)
        if not isinstance(data, list) or len(data) > SENSORS_LIMIT:
            raise _Failed("invalid_format", f"data: expected a list of at most {SENSORS_LIMIT} sensors")
        answers: dict[str, Any] = {}
        for each in data:
            id = str(each.get("unique_id", ""))[:128] if isinstance(each, dict) else ""
            try:
                sensor = SENSOR_STATE(each)
                if app.sensors.get(sensor["unique_id"], {}).get("type") != sensor["type"]:
                    raise _Failed("not_registered", f"there is no {sensor['type']} {id!r}; send register_sensor first")
                entities.report(sensor)
                answers[id] = {"success": True}
            except _Failed as error:
                answers[id] = {"success": False, "error": {"code": error.code, "message": str(error)}}
            except SchemaError as error:
                message = describe_error(error)
                answers[id] = {"success": False, "error": {"code": "invalid_format", "message": message}}
        return answers

    async def _service(self, call: HttpCall, data: Any) -> Any:
        said = _SERVICE(data)
        name = f"{said['domain']}.{said['service']}"
        await self._ask(call, "service.call", {"service": name, "data": said.get("service_data") or {}}, acts=True)
        return _NOTHING

    async def _event(self, call: HttpCall, data: Any) -> Any:
        said = _EVENT(data)
        of_event, shown = said.get("event_data") or {}, self._host.nodes.phones.shown
        if said["event_type"] == EVENT_ACTION:
            await shown.pressed_in_app(self._id, of_event)
            return _NOTHING
        if said["event_type"] == EVENT_CLEARED:
            await shown.cleared_in_app(self._id, of_event)
            return _NOTHING
        fired = {"type": said["event_type"], "data": said.get("event_data") or {}}
        await self._ask(call, "event.fire", fired, acts=True)
        return _NOTHING

    async def _render(self, call: HttpCall, data: Any) -> Any:
        answers: dict[str, Any] = {}
        for key, each in _TEMPLATES(data).items():
            asked = {"template": each["template"], "variables": each.get("variables") or {}}
            try:
                answers[key] = (await self._ask(call, "template.render", asked))["result"]
            except Forbidden:
                raise
            except HubError as error:
                answers[key] = {"error": error.message}
        return answers

    async def _converse(self, call: HttpCall, data: Any) -> Any:
        key = f"node-{self._id}"
        asked = {"message": _SPOKEN(data)["text"], "sessionKey": key}
        begun = await self._ask(call, "agent", asked, acts=True)
        wait = {"runId": begun["runId"], "timeoutMs": CONVERSATION_LIMIT_MS}
        ended = await self._ask(call, "agent.wait", wait)
        is_well = ended["status"] == "ok"
        text = ended.get("reply") or ("" if is_well else "The assistant gave no answer.")
        response: dict[str, Any] = {
            "speech": {"plain": {"speech": text, "extra_data": None}},
            "card": {},
            "language": self._host.language,
            "response_type": "action_done" if is_well else "error",
            "data": {"targets": [], "success": [], "failed": []} if is_well else {"code": "unknown"},
        }
        return {"response": response, "conversation_id": key, "continue_conversation": False}

    async def _update(self, call: HttpCall, data: Any) -> Any:
        app, _ = self._apps.get(self._id)
        said = {**app.said, **{key: value for key, value in UPDATE(data).items() if value is not None}}
        await self._apps.change(replace(app, said=said))
        shown = {key: said.get(key) for key in SHOWN}
        return {**shown, "app_data": said.get("app_data"), "supports_encryption": said.get("supports_encryption")}

    async def _encrypt(self, call: HttpCall, data: Any) -> Any:
        app, _ = self._apps.get(self._id)
        if app.secret:
            raise _Failed("encryption_already_enabled", "this registration is encrypted already")
        key = new_key()
        if key is None:
            raise _Failed("encryption_not_available", f"the hub has no pynacl; run: {install_command('mobile-app')}")
        await self._apps.change(replace(app, secret=key))
        return {"secret": key}

    async def _zones(self, call: HttpCall, data: Any) -> Any:
        return [state_data(state) for state in self._host.states.machine.all("zone")]

    async def _config(self, call: HttpCall, data: Any) -> Any:
        app, _ = self._apps.get(self._id)
        known = {id: {"disabled": bool(each.get("disabled"))} for id, each in app.sensors.items()}
        device = self._host.entities.registry.device_for(self._host.domain, device_of(app))
        return {**configuration(self._host), "entities": known, "hass_device_id": device.id, "theme_color": "#2356c4"}

    async def _scan(self, call: HttpCall, data: Any) -> Any:
        app, _ = self._apps.get(self._id)
        device = self._host.entities.registry.device_for(self._host.domain, device_of(app))
        event = {"tag_id": _TAG(data)["tag_id"], "device_id": device.id}
        self._host.bus.fire("tag_scanned", event, Context(app.caller(call.address).authority))
        return _NOTHING

    async def _ask(self, call: HttpCall, method: str, params: dict[str, Any], *, acts: bool = False) -> Any:
        app, _ = self._apps.get(self._id)
        if acts:
            params["idempotencyKey"] = new_id()
        return await self._host.methods.call(app.caller(call.address), method, params)


def _refused(code: str, message: str, status: int = 400) -> web.Response:
    return json_response({"success": False, "error": {"code": code, "message": message}}, status=status)
