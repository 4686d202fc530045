"""A gateway that speaks the node's side of the protocol, as frames recorded of OpenClaw's show it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.gateway.access.device_identity import DeviceProof, verify
from hub.gateway.connection.connect_request import CONNECT_SCHEMA, signed_client
from tests.until import LIMIT_S

NOW_MS = 1_795_364_812_131
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def welcome(params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a node that is let in, as it was recorded."""
    return {
        "ok": True,
        "payload": {
            "type": "hello-ok",
            "protocol": 4,
            "auth": {"method": "token", "role": "node", "scopes": [], "deviceToken": "token-of-this-device"},
            "policy": {"maxPayload": 200_000, "tickIntervalMs": 30_000},
        },
    }


def pending(params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a node that a person has yet to approve, as it was recorded."""
    details = {"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": "52bc40b5"}
    message = "pairing required: device is not approved yet"
    return {"ok": False, "error": {"code": "NOT_PAIRED", "message": message, "details": details}}


class GatewayDouble:
    """Takes one node at a time.

    Attributes:
        answers: What each further connection gets; the last one for all that follow.
        connects: The parameters of each `connect`, whose signature was checked.
        events: What the node sent by `node.event`.
    """

    def __init__(self) -> None:
        self.answers: list[Answer] = [welcome]
        self.connects: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.socket: web.WebSocketResponse | None = None
        self._results: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0

    async def invoke(self, command: str, params: Any = None, **more: Any) -> dict[str, Any]:
        """Ask the node, and return the parameters of its `node.invoke.result`."""
        return await asyncio.wait_for(self.begin(command, params, **more)[1], LIMIT_S)

    def begin(self, command: str, params: Any = None, **more: Any) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        self._count += 1
        id = f"inv{self._count}"
        result = self._results[id] = asyncio.get_running_loop().create_future()
        asked = {"id": id, "command": command, "paramsJSON": json.dumps(params or {}), "timeoutMs": 30_000, **more}
        self._event("node.invoke.request", asked)
        return id, result

    def cancel(self, id: str) -> None:
        self._event("node.invoke.cancel", {"invokeId": id})

    async def payload(self, command: str, params: Any = None) -> Any:
        """What the node answers to a command that it does."""
        result = await self.invoke(command, params)
        assert result["ok"], result
        return json.loads(result["payloadJSON"])

    async def drop(self) -> None:
        """Cut the connection."""
        socket, self.socket = self.socket, None
        assert socket is not None
        await socket.close()

    def _event(self, name: str, payload: dict[str, Any]) -> None:
        assert self.socket is not None
        frame = json.dumps({"type": "event", "event": name, "payload": payload})
        self._sending = asyncio.ensure_future(self.socket.send_str(frame))

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        nonce = f"nonce-{len(self.connects)}"
        challenge = {"nonce": nonce, "ts": NOW_MS}
        await ws.send_json({"type": "event", "event": "connect.challenge", "payload": challenge})
        first = await ws.receive_json()
        params = CONNECT_SCHEMA(first["params"])
        device = params["device"]
        proof = DeviceProof(device["id"], device["publicKey"], device["signature"], device["signedAt"], device["nonce"])
        verify(proof, signed_client(params, params.get("auth") or {}), nonce, NOW_MS)
        self.connects.append(params)
        answer = (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])(params)
        if answer["ok"]:
            self.socket = ws  # before the node knows that it is in
        await ws.send_json({"type": "res", "id": first["id"], **answer})
        if not answer["ok"]:
            await ws.close(code=1008)
            return ws
        async for message in ws:
            frame = json.loads(message.data)
            if frame["method"] == "node.invoke.result":
                self._results[frame["params"]["id"]].set_result(frame["params"])
            elif frame["method"] == "node.event":
                self.events.append(frame["params"])
            await ws.send_json({"type": "res", "id": frame["id"], "ok": True, "payload": {"ok": True}})
        return ws


@asynccontextmanager
async def gateway_double() -> AsyncIterator[tuple[GatewayDouble, str]]:
    """A gateway on a free port, and its address."""
    double = GatewayDouble()
    app = web.Application()
    app.router.add_get("/", double.serve)
    async with TestServer(app) as server:
        yield double, f"ws://127.0.0.1:{server.port}"
