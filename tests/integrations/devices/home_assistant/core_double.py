"""A double of Home Assistant's WebSocket API, with its registries, states and faults."""

from __future__ import annotations

from typing import Any, Self

from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

TOKEN = "long-lived-token"


class CoreDouble:
    """Answers as Home Assistant 2026.9 does: sign-in, registries, compressed states, services.

    Attributes:
        called: The calls of services that came in.
        refuses: What it says to the next call instead of doing it.
        answers: What services answer, by their names; others answer `{"said": "yes"}`.
    """

    def __init__(self) -> None:
        self.states: dict[str, dict[str, Any]] = {}
        self.registries: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("floor", "area", "label", "device", "entity")
        }
        self.exposed: dict[str, dict[str, bool]] = {}
        self.services: dict[str, dict[str, Any]] = {}
        self.called: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.refuses: str | None = None
        self.connections = 0
        self._sockets: dict[web.WebSocketResponse, dict[str, int]] = {}
        app = web.Application()
        app.router.add_get("/api/websocket", self._serve)
        app.router.add_get("/api/camera_proxy/{entity_id}", self._picture)
        app.router.add_get("/elsewhere/api/websocket", self._redirect)
        self._server = TestServer(app)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drop()
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    async def drop(self) -> None:
        """Close all connections."""
        for socket in list(self._sockets):
            await socket.close()

    async def change(self, entity_id: str, state: str, **attributes: Any) -> None:
        """Change a state, and say so in the short form."""
        kept = self.states[entity_id]
        kept["s"], kept["a"] = state, kept["a"] | attributes
        await self._tell("entities", {"c": {entity_id: {"+": {"s": state, "a": attributes, "lc": 2.0}}}})

    async def add(self, entity_id: str, state: str, **attributes: Any) -> None:
        """Add an entity, and say so to those who are connected."""
        self.states[entity_id] = {"s": state, "a": attributes, "c": "01", "lc": 1.0, "lu": 1.0}
        await self._tell("entities", {"a": {entity_id: self.states[entity_id]}})

    async def remove(self, entity_id: str) -> None:
        """Remove an entity."""
        del self.states[entity_id]
        await self._tell("entities", {"r": [entity_id]})

    async def fire(self, type: str, **data: Any) -> None:
        """Fire an event."""
        await self._tell(type, {"event_type": type, "data": data, "origin": "LOCAL"})

    async def registry_changed(self, kind: str) -> None:
        """Say that a registry has changed."""
        name = f"{kind}_registry_updated"
        await self._tell(name, {"event_type": name, "data": {"action": "update"}, "origin": "LOCAL"})

    async def _tell(self, topic: str, event: dict[str, Any]) -> None:
        for socket, topics in self._sockets.items():
            if topic in topics:
                await socket.send_json({"id": topics[topic], "type": "event", "event": event})

    async def _picture(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise web.HTTPForbidden
        return web.Response(body=b"\xff\xd8\xff " + request.match_info["entity_id"].encode(), content_type="image/jpeg")

    async def _redirect(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/api/websocket")

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "auth_required", "ha_version": "2026.9.1"})
        auth = await socket.receive_json()
        if auth != {"type": "auth", "access_token": TOKEN}:
            await socket.send_json({"type": "auth_invalid", "message": "Invalid access token or password"})
            await socket.close()
            return socket
        await socket.send_json({"type": "auth_ok", "ha_version": "2026.9.1"})
        self.connections += 1
        self._sockets[socket] = {}
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self._answer(socket, message.json())
        del self._sockets[socket]
        return socket

    async def _answer(self, socket: web.WebSocketResponse, asked: dict[str, Any]) -> None:
        id, type = asked["id"], asked["type"]
        topics = self._sockets[socket]
        result: Any = None
        if type == "subscribe_events":
            topics[asked["event_type"]] = id
        elif type == "subscribe_entities":
            topics["entities"] = id
        elif type == "homeassistant/expose_entity/list":
            result = {"exposed_entities": self.exposed}
        elif type.startswith("config/") and type.endswith("_registry/list"):
            result = self.registries[type.removeprefix("config/").removesuffix("_registry/list")]
        elif type == "get_services":
            result = self.services
        elif type == "call_service":
            if self.refuses is not None:
                error = {"code": "service_validation_error", "message": self.refuses}
                await socket.send_json({"id": id, "type": "result", "success": False, "error": error})
                return
            self.called.append({key: value for key, value in asked.items() if key not in ("id", "type")})
            said = self.answers.get(f"{asked['domain']}.{asked['service']}", {"said": "yes"})
            answer = said if asked.get("return_response") else None
            result = {"context": {"id": "02"}, "response": answer}
        else:
            raise AssertionError(f"Home Assistant has no command {type}")
        await socket.send_json({"id": id, "type": "result", "success": True, "result": result})
        if type == "subscribe_entities":
            await socket.send_json({"id": id, "type": "event", "event": {"a": self.states}})
