"""An HTTP server in place of the gateway's, for the webhooks of channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import aiohttp
from aiohttp import web

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall, Route
from hub.gateway.calls.routes import RouteTable


class WebhookHost:
    """Answers at the routes of some channels, within their limits for whoever has no credential.

    Attributes:
        routes: Returns the routes that there are now.
        url: Its address.
    """

    def __init__(self, routes: Callable[[], Iterable[Route]] = tuple) -> None:
        self.routes = routes
        self.url = ""

    async def start(self) -> str:
        """Start it; return its address."""
        application = web.Application(client_max_size=1 << 30)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self.url

    async def stop(self) -> None:
        """Stop it; connections are cut."""
        await self._runner.cleanup()

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post something as anybody can; return the status."""
        async with (
            aiohttp.ClientSession() as client,
            client.post(self.url + path, data=body, headers=headers) as answer,
        ):
            return answer.status

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        table = RouteTable()
        for each in self.routes():
            table.add(each)
        upgrades = request.headers.get("Upgrade", "").lower() == "websocket"
        if (match := table.match(request.method, request.path, websocket=upgrades)) is None:
            return web.Response(status=404)
        route = match.route
        if (request.content_length or 0) > min(route.body_limit, route.open_limit):
            return web.Response(status=413)
        try:
            body = b"" if upgrades else await request.read()
            return await route.handler(HttpCall(request, None, match.params, body))
        except HubError as error:
            return web.json_response({"error": {"message": error.message}}, status=error.http_status)
