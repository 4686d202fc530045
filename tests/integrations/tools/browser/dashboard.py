"""The pages and routes of the browser integration on a server of their own, for an owner who has signed in."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.surfaces import Caller, HttpCall, Route
from integrations.tools.browser.live import PATH
from tests.integrations.tools.browser.conftest import Browsing
from web.core.template_loader import PageTemplates


def _untranslated(text: str, **values: Any) -> str:
    return text.format(**values) if values else text


class Dashboard:
    """Serves what `browsing` has registered."""

    def __init__(self, browsing: Browsing) -> None:
        self._browsing = browsing
        self._caller = Caller(browsing.standing.owner, "cookie:1", "127.0.0.1", local=False)

    async def start(self) -> str:
        """Return where the page is."""
        app = web.Application()
        page = self._browsing.standing.pages
        page.render = self._render
        for route in self._browsing.routes:
            app.router.add_route(route.method, route.path, self._served(route))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.place = f"127.0.0.1:{self._runner.addresses[0][1]}"
        return f"http://{self.place}{PATH}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    def _served(self, route: Route) -> Any:
        async def serve(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            try:
                body = route.body(json.loads(raw)) if route.body is not None else raw
                return await route.handler(HttpCall(request, self._caller, request.match_info, body))
            except HubError as error:
                return web.json_response({"error": error.as_dict()}, status=error.http_status)

        return serve

    async def _render(self, call: HttpCall, page: Any) -> web.StreamResponse:
        texts = {"_": _untranslated, "ngettext": lambda one, many, count, **values: one if count == 1 else many}
        templates = PageTemplates(web.Application(), lambda path: f"/static/{path}")
        template = templates.read(page.template)
        shown = template.render(**texts, ui=templates.components("en", texts), data=await page.data(call))
        return web.Response(text=shown, content_type="text/html")
