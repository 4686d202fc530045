"""`POST /api/rpc`: the gateway's methods over plain HTTP, for the command line and for scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import orjson
from aiohttp import web

from hub.config.history import COMMAND, changed_by
from hub.core.errors import InvalidRequest
from hub.core.surfaces import LARGE_FRAME_BYTES, Caller, HttpCall, Open, Route
from hub.gateway.calls.dispatch import Dispatcher
from hub.gateway.connection.protocol import plain

ENVELOPE_BYTES = 4_096
BODY_LIMIT_BYTES = LARGE_FRAME_BYTES + ENVELOPE_BYTES


class RpcRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a call; its parameters are still encoded."""

    method: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    params: msgspec.Raw = msgspec.Raw(b"null")
    wait: bool = False


_REQUESTS = msgspec.json.Decoder(RpcRequest)


def rpc_routes(dispatcher: Dispatcher) -> list[Route]:
    """Return the route.

    The body is `{method, params?, wait?}`, the answer `{"ok": true, "payload": …}` or `{"error": …}`. With `wait`, a
    method that answers twice (`agent`) is answered with the second. Scope and size are judged as over a WebSocket.
    """

    async def rpc(call: HttpCall) -> web.StreamResponse:
        second: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()

        async def later(payload: Mapping[str, Any]) -> None:
            if not second.done():
                second.set_result(payload)

        request = _request(call.body)
        method, prepared = dispatcher.prepare(request.method, request.params, call.known_caller, later=later)
        with changed_by(COMMAND):
            payload = await dispatcher.run(method, prepared)
        if request.wait and method.answers > 1:
            payload = await second
        data = orjson.dumps({"ok": True, "payload": payload}, default=plain)
        return web.Response(body=data, content_type="application/json", headers={"Cache-Control": "no-store"})

    def body_limit(caller: Caller) -> int:
        return dispatcher.frame_limit(caller) + ENVELOPE_BYTES

    return [
        Route(
            "POST",
            "/api/rpc",
            rpc,
            "gateway",
            scope=Open.SIGNED_IN,
            body_limit=BODY_LIMIT_BYTES,
            body_limit_of=body_limit,
            cookie=True,
        )
    ]


def _request(body: bytes) -> RpcRequest:
    try:
        return _REQUESTS.decode(body)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the body: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from None
