"""The notifications of this browser while the dashboard is closed, and the dashboard as an app."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from hub.core.schema import ALLOW_EXTRA, Schema
from hub.core.surfaces import ADMIN, HttpCall
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response
from web.core.texts import PUSH_TOPICS
from web.devices.reach import HubReach

PATH = "/notifications"
ANYTHING = Schema({}, extra=ALLOW_EXTRA)
"""The method that is asked knows what it takes."""


class NotificationsPage:
    """The page, and what its script asks; whose browser it is says the sign-in.

    Args:
        client: Reaches the methods of the integration `phone`, which keeps the subscriptions.
        reach: Knows why this address may not be secure.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, reach: HubReach) -> None:
        self._renderer = renderer
        self._client = client
        self._reach = reach

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /notifications`."""
        reach = self._reach.look(call)
        data = {
            "topics": [{"name": name, "text": text, "help": help} for name, (text, help) in PUSH_TOPICS.items()],
            "has_authority": reach.has_authority,
            "may_mend": bool(reach.needs) and call.known_caller.authority.has(ADMIN),
        }
        return await self._renderer.respond(call, RenderedPage("notifications", "Notifications and app", data, PATH))

    async def key(self, call: HttpCall) -> web.StreamResponse:
        """`POST /notifications/key`: the key by which push services know this hub."""
        return await self._ask(call, "push.web.vapidPublicKey", {})

    async def state(self, call: HttpCall) -> web.StreamResponse:
        """`POST /notifications/state`: the notifications of the browser of an endpoint."""
        return await self._ask(call, "push.web.state")

    async def subscribe(self, call: HttpCall) -> web.StreamResponse:
        """`POST /notifications/subscribe`: tell this browser of some topics from now on."""
        return await self._ask(call, "push.web.subscribe")

    async def unsubscribe(self, call: HttpCall) -> web.StreamResponse:
        """`POST /notifications/unsubscribe`: tell this browser nothing more."""
        return await self._ask(call, "push.web.unsubscribe")

    async def test(self, call: HttpCall) -> web.StreamResponse:
        """`POST /notifications/test`: show a notification on the viewer's browsers."""
        words = catalogue(self._renderer.preferences(call).language)
        body = words.gettext("This is how the assistant tells you something.")
        return await self._ask(call, "push.web.test", {"body": body})

    async def _ask(self, call: HttpCall, method: str, params: dict[str, Any] | None = None) -> web.StreamResponse:
        given = read_fields(call, ANYTHING) if params is None else params
        return json_response(await self._client.ask(call, method, given))
