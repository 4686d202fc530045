"""`/api/notification/<key>/<what>`: a button, a dismissal or a picture of a notification, at its signed address."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from aiohttp import web

from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall, Open, Route
from hub.gateway.connection.server import Gateway, json_response
from hub.models.images import image_type
from hub.nodes.shown import PATH, REPLY_CHARS, ShownNotifications
from hub.security.egress import Egress

OWNER = "nodes"
BODY_LIMIT_BYTES = 16_384
MEDIA_LIMIT_BYTES = 10_000_000
PRESS, FAR = "press", "far"
"""Addresses of a button: one that only the phone knows, and one that others carry: what they send is from outside."""


class NotificationRoutes:
    """Answers them.

    Args:
        shown: What was shown.
        gateway: Counts who tries addresses that it did not make.
        egress: Gets pictures from elsewhere.
    """

    def __init__(self, shown: ShownNotifications, gateway: Gateway, egress: Egress) -> None:
        self._shown, self._gateway, self._egress = shown, gateway, egress

    def routes(self) -> Iterable[Route]:
        """Return the routes."""
        post = Route("POST", PATH, self._post, OWNER, scope=Open.SELF, body_limit=BODY_LIMIT_BYTES)
        return [post, Route("GET", PATH, self._get, OWNER, scope=Open.SELF)]

    async def _post(self, call: HttpCall) -> web.StreamResponse:
        """A button was pressed, or the notification dismissed."""
        what, _, number = call.params["what"].partition("-")
        with self._counted(call):
            shown = await self._shown.find(call.params["key"], call.params["what"])
        if what == "cleared":
            await self._shown.cleared(shown, tainted=False)
        elif what in (PRESS, FAR) and number.isdigit():
            await self._shown.press(shown, int(number), _reply(call.body), tainted=what == FAR)
        else:
            raise NotFound(phrase("there is no such notification"))
        return json_response({"ok": True})

    async def _get(self, call: HttpCall) -> web.StreamResponse:
        """The picture, got from where it is."""
        with self._counted(call):
            shown = await self._shown.find(call.params["key"], call.params["what"])
        source = shown.fetched.get(call.params["what"])
        if source is None:
            raise NotFound(phrase("there is no such notification"))
        found = await self._egress.fetch(source, limit_bytes=MEDIA_LIMIT_BYTES)
        if found.status != 200:
            raise NotFound(phrase("{source} answers {status}", source=source[:200], status=found.status))
        data = found.body
        kind = image_type(data) or ("video/mp4" if data[4:8] == b"ftyp" else None)
        if kind is None:
            raise InvalidRequest(phrase("{source} is no picture", source=source[:200]))
        headers = {"Cache-Control": "private, max-age=3600", "Content-Security-Policy": "default-src 'none'; sandbox"}
        return web.Response(body=data, content_type=kind, headers=headers)

    @contextmanager
    def _counted(self, call: HttpCall) -> Iterator[None]:
        """Count an attempt against whoever asks; one with a good signature does not count."""
        client = self._gateway.ingress.client_of(call.request)
        self._gateway.authenticator.reserve(client, "notification:")
        yield
        self._gateway.authenticator.succeed(client, "notification:")


def _reply(body: bytes) -> str:
    try:
        said = json.loads(body or b"{}")
        return str(said.get("reply_text") or "")[:REPLY_CHARS]
    except (ValueError, AttributeError, RecursionError) as error:
        raise InvalidRequest(phrase("expected nothing, or JSON with reply_text")) from error
