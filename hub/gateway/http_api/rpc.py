"""`POST /api/rpc`: the gateway's methods over plain HTTP, for the command line and for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from hub.core.schema import All, Length, Optional, Required, Schema, boolean
from hub.gateway.calls.contract import HttpCall, Open, Route
from hub.gateway.calls.dispatch import Dispatcher

BODY_LIMIT_BYTES = 26_214_400
RPC_SCHEMA = Schema(
    {
        Required("method"): All(str, Length(min=1, max=128)),
        Optional("params"): object,
        Optional("wait", default=False): boolean,
    }
)


def rpc_routes(dispatcher: Dispatcher) -> list[Route]:
    """Return the route.

    The body is `{method, params?, wait?}`, the answer `{"ok": true, "payload": …}` or `{"error": …}`. With `wait`, a
    method that answers twice (`agent`) is answered with the second. Each method's scope is judged as over a WebSocket.
    """

    async def rpc(call: HttpCall) -> web.StreamResponse:
        second: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()

        async def later(payload: Mapping[str, Any]) -> None:
            if not second.done():
                second.set_result(payload)

        body = call.body
        method, prepared = dispatcher.prepare(body["method"], body.get("params"), call.known_caller, later=later)
        payload = await dispatcher.run(method, prepared)
        if body["wait"] and method.answers > 1:
            payload = await second
        data = orjson.dumps({"ok": True, "payload": payload}, default=_plain)
        return web.Response(body=data, content_type="application/json", headers={"Cache-Control": "no-store"})

    return [
        Route(
            "POST",
            "/api/rpc",
            rpc,
            "gateway",
            scope=Open.SIGNED_IN,
            body=RPC_SCHEMA,
            body_limit=BODY_LIMIT_BYTES,
            cookie=True,
        )
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not plain data")
