"""The dashboard's routes, joined from those of each page group and added to the gateway's table."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable

from aiohttp import web
from msgspec.structs import replace

from hub.config.history import PAGE, changed_by
from hub.core.errors import HubError
from hub.core.surfaces import READ, HttpCall, HttpHandler, Open, Route
from hub.gateway.calls.routes import RouteTable
from hub.gateway.pages import Page, RenderPage
from web.core.assets import STATIC_DIR, Assets
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.live import LiveUpdates
from web.core.navigation import FIRST_TABS, MOVED
from web.core.page_routes import FORM_LIMIT_BYTES, OWNER, page
from web.core.preferences import FORM, local_path, store_preferences
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

APP_COLOUR = "#f6f7f9"
KEPT_BY_THE_APP = ("app.css", "vendor/inter.woff2", "vendor/sprite.svg", "icon-192.png")
SHORTCUTS = {"Chat": "/chat", "Timeline": "/timeline", "Devices": "/devices"}
SHARED = {name: name for name in ("title", "text", "url")}
"""What another app hands over to Home, in its query."""


def add_routes(table: RouteTable, renderer: Renderer, routes: Iterable[Route]) -> Callable[[], None]:
    """Add the dashboard's routes.

    Returns:
        A function that removes them.
    """
    remove = [table.add(_with_error_page(route, renderer)) for route in routes]

    def remove_all() -> None:
        for each in remove:
            each()

    return remove_all


def pages_of_integrations(renderer: Renderer) -> RenderPage:
    """Return the handler of an integration's page, with its errors shown in place."""

    async def render(call: HttpCall, page: Page) -> web.StreamResponse:
        try:
            return await renderer.show(call, page)
        except HubError as error:
            return await _error_page(renderer, call, error, page.path)

    return render


def frame_routes(renderer: Renderer, assets: Assets, live: LiveUpdates) -> list[Route]:
    """Return the routes that all pages share: static files, preferences, the live socket, and old addresses."""

    async def preferences(call: HttpCall) -> web.StreamResponse:
        chosen = read_fields(call, FORM)
        response = see_other(local_path(chosen["back"]))
        store_preferences(response, chosen, secure=call.request.secure)
        return response

    async def live_tab(call: HttpCall) -> web.StreamResponse:
        await renderer.prepare(renderer.preferences(call).language)  # a tab that outlived a hub comes without its page
        return await live.serve(call)

    async def live_state(call: HttpCall) -> web.StreamResponse:
        return json_response({"tabs": live.client_count})

    return [
        Route("GET", "/static/{path:*}", assets.serve, OWNER, scope=Open.PUBLIC),
        Route("POST", "/preferences", preferences, OWNER, scope=Open.PUBLIC, body_limit=FORM_LIMIT_BYTES),
        Route("GET", "/live", live_tab, OWNER, scope=READ, cookie=True, websocket=True),
        Route("GET", "/live/state", live_state, OWNER, scope=READ, cookie=True),
        *(page(old, _leads_to(new)) for old, new in {**MOVED, **FIRST_TABS}.items()),
    ]


def app_routes(renderer: Renderer, assets: Assets, home_name: Callable[[], str]) -> list[Route]:
    """Return what makes the dashboard an app; none of it shows more of the home than its name, as signing in does."""

    async def manifest(call: HttpCall) -> web.StreamResponse:
        words = catalogue(renderer.preferences(call).language)
        icon = {"purpose": "any maskable", "type": "image/png"}
        return web.json_response(
            {
                "id": "/",
                "name": home_name(),
                "short_name": home_name(),
                "start_url": "/",
                "scope": "/",
                "display": "standalone",
                "theme_color": APP_COLOUR,
                "background_color": APP_COLOUR,
                "icons": [
                    {"src": assets.url("icon.svg"), "sizes": "any", "type": "image/svg+xml"},
                    *(icon | {"src": assets.url(f"icon-{px}.png"), "sizes": f"{px}x{px}"} for px in (192, 512)),
                ],
                "shortcuts": [{"name": words.gettext(name), "url": path} for name, path in SHORTCUTS.items()],
                "share_target": {"action": "/", "method": "GET", "params": SHARED},
            },
            content_type="application/manifest+json",
            headers={"Cache-Control": "no-store"},
        )

    async def worker(call: HttpCall) -> web.StreamResponse:
        kept = [assets.url(name) for name in KEPT_BY_THE_APP]
        source = await asyncio.to_thread((STATIC_DIR / "sw.js").read_text, "utf-8")
        text = f"const VERSION = {json.dumps(assets.version)};\nconst KEPT = {json.dumps(kept)};\n{source}"
        return web.Response(text=text, content_type="text/javascript", headers={"Cache-Control": "no-store"})

    async def offline(call: HttpCall) -> web.StreamResponse:
        return await renderer.respond(call, RenderedPage("offline", "The hub cannot be reached"))

    return [
        Route("GET", "/manifest.webmanifest", manifest, OWNER, scope=Open.PUBLIC),
        Route("GET", "/sw.js", worker, OWNER, scope=Open.PUBLIC),
        Route("GET", "/offline", offline, OWNER, scope=Open.PUBLIC),
    ]


def _leads_to(path: str) -> HttpHandler:
    async def lead(call: HttpCall) -> web.StreamResponse:
        query = call.request.query_string
        return see_other(f"{path}{'&' if '?' in path else '?'}{query}" if query else path)

    return lead


def _with_error_page(route: Route, renderer: Renderer) -> Route:
    """Return the route with its errors shown as a page to clients that asked for one."""
    if route.websocket or route.path.startswith("/static/"):
        return route

    async def handler(call: HttpCall) -> web.StreamResponse:
        person = call.caller.authority.person if call.caller is not None else None
        try:
            with changed_by(f"{PAGE}.{person}" if person else PAGE):
                return await route.handler(call)
        except HubError as error:
            return await _error_page(renderer, call, error, route.path)

    return replace(route, handler=handler)


async def _error_page(renderer: Renderer, call: HttpCall, error: HubError, path: str) -> web.StreamResponse:
    if wants_json(call.request):
        raise error
    back = local_path(call.request.path) if call.request.method == "GET" else "/"
    data = {"error": error.as_dict(), "back": "/" if back == path else back}
    return await renderer.respond(call, RenderedPage("error", "That did not work", data, status=error.http_status))
