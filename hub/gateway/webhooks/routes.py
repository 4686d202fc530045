"""`/api/webhook/<webhook_id>`: webhooks that trigger automations.

The ingress has judged size, Host and Origin by then; who may call is judged by `hub.gateway.webhooks.webhooks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from hub.core.surfaces import RAW_LIMIT_BYTES, HttpCall, Open, Route
from hub.gateway.access.ingress import Ingress
from hub.gateway.connection.server import json_response
from hub.gateway.webhooks.webhooks import WebhookRequest

if TYPE_CHECKING:
    from hub.gateway.webhooks.webhooks import WebhookReply, Webhooks

PATH = "/api/webhook/{webhook_id}"
BODY_LIMIT_BYTES = RAW_LIMIT_BYTES - 16_384
"""A caller that has proved nothing may send 64 KiB in all, its headers included."""
FETCHED = "Sec-Fetch-Site"
FROM_HERE = frozenset({"none", "same-origin"})
"""A browser that gets something for a page of somebody else's says so here, without an Origin."""
METHODS = ("POST", "PUT", "GET")
"""HEAD is served by GET."""
CODES = {
    400: "INVALID_REQUEST",
    401: "UNAUTHORIZED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "TOO_LARGE",
    429: "LIMIT_EXCEEDED",
}


def webhook_routes(ingress: Ingress, webhooks: Webhooks) -> list[Route]:
    """Return the routes.

    An accepted call answers 200 and does not reveal what it set off.

    Args:
        ingress: Finds where a request comes from.
        webhooks: The table of what triggers wait for.
    """

    async def receive(call: HttpCall) -> web.StreamResponse:
        request = call.request
        client = ingress.client_of(request)
        body = call.body if isinstance(call.body, bytes) else b""
        reply = webhooks.receive(
            WebhookRequest(
                id=call.params["webhook_id"],
                method=request.method,
                client=client.limiter_key,
                is_local=client.local and request.headers.get(FETCHED, "none") in FROM_HERE,
                headers={name.lower(): value for name, value in request.headers.items()},
                query=list(request.query.items()),
                body=body,
            )
        )
        return _answer(reply)

    return [
        Route(method, PATH, receive, "automation", scope=Open.SELF, body_limit=BODY_LIMIT_BYTES) for method in METHODS
    ]


def _answer(reply: WebhookReply) -> web.Response:
    if reply.status == 200:
        return json_response({"ok": True})
    code = CODES.get(reply.status, "INTERNAL")
    response = json_response({"error": {"code": code, "message": reply.message}}, status=reply.status)
    if reply.retry_after_s is not None:
        response.headers["Retry-After"] = str(max(1, round(reply.retry_after_s)))
    return response
