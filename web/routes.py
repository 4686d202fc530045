"""The dashboard's routes: added to the gateway's table, and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web

from hub.core.errors import HubError
from hub.gateway.contract import ADMIN, READ, WRITE, HttpCall, HttpHandler, Open, Route
from hub.gateway.routes import RouteTable
from hub.tools.approval_rights import SCOPE
from web.assets import Assets
from web.form import read_fields
from web.live import Live
from web.pages.approvals import ApprovalsPage
from web.pages.chat import ChatPage
from web.pages.configuration import ConfigurationPage
from web.pages.login import LoginPage
from web.pages.overview import OverviewPage
from web.preferences import FORM, local_path, store_preferences
from web.render import Page, Renderer, json_response, see_other, wants_json

OWNER = "web"
FORM_LIMIT_BYTES = 262_144
CONFIG_LIMIT_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages that are served; the chat is absent in recovery mode."""

    login: LoginPage
    overview: OverviewPage
    configuration: ConfigurationPage
    chat: ChatPage | None
    approvals: ApprovalsPage


def add_routes(table: RouteTable, renderer: Renderer, assets: Assets, live: Live, pages: Pages) -> Callable[[], None]:
    """Add the dashboard's routes.

    Returns:
        A function that takes them away again.
    """
    remove = [table.add(_told(route, renderer)) for route in _routes(renderer, assets, live, pages)]

    def remove_all() -> None:
        for take_away in remove:
            take_away()

    return remove_all


def _routes(renderer: Renderer, assets: Assets, live: Live, pages: Pages) -> list[Route]:
    configuration, chat = pages.configuration, pages.chat
    home = "/chat" if chat is not None else "/overview"

    async def front(call: HttpCall) -> web.StreamResponse:
        return see_other(home)

    async def preferences(call: HttpCall) -> web.StreamResponse:
        chosen = read_fields(call, FORM)
        response = see_other(local_path(chosen["back"]))
        store_preferences(response, chosen, secure=call.request.secure)
        return response

    async def live_state(call: HttpCall) -> web.StreamResponse:
        return json_response({"tabs": live.client_count})

    routes = [
        Route("GET", "/static/{path:*}", assets.serve, OWNER, scope=Open.PUBLIC),
        Route("GET", "/login", pages.login.show, OWNER, scope=Open.PUBLIC, cookie=True),
        Route("POST", "/login", pages.login.sign_in, OWNER, scope=Open.PUBLIC, body_limit=FORM_LIMIT_BYTES),
        Route(
            "POST",
            "/logout",
            pages.login.sign_out,
            OWNER,
            scope=Open.SIGNED_IN,
            cookie=True,
            body_limit=FORM_LIMIT_BYTES,
        ),
        Route("POST", "/preferences", preferences, OWNER, scope=Open.PUBLIC, body_limit=FORM_LIMIT_BYTES),
        Route("GET", "/live", live.serve, OWNER, scope=READ, cookie=True, websocket=True),
        Route("GET", "/live/state", live_state, OWNER, scope=READ, cookie=True),
        _page("/", front),
        _page("/overview", pages.overview.show),
        _page("/config", configuration.show, ADMIN),
        _page("/config/history", configuration.history, ADMIN),
        _form("/config/check", configuration.check, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/config/complete", configuration.complete, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/config/save", configuration.save, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/config/restore", configuration.restore, ADMIN),
    ]
    if chat is not None:
        routes += [
            _form("/approvals/answer", pages.approvals.answer, SCOPE),
            _page("/chat", chat.show),
            _page("/chat/sessions", chat.list),
            _form("/chat/send", chat.send),
            _form("/chat/abort", chat.abort),
            _form("/chat/new", chat.new),
            _form("/chat/rename", chat.rename),
            _form("/chat/delete", chat.delete),
        ]
    return routes


def _page(path: str, handler: HttpHandler, scope: str = READ) -> Route:
    return Route("GET", path, handler, OWNER, scope=scope, cookie=True, login_redirect=True)


def _form(path: str, handler: HttpHandler, scope: str = WRITE, body_limit: int = FORM_LIMIT_BYTES) -> Route:
    return Route("POST", path, handler, OWNER, scope=scope, cookie=True, body_limit=body_limit)


def _told(route: Route, renderer: Renderer) -> Route:
    """Return the route with its errors shown as a page to those who asked for one."""
    if route.websocket or route.path.startswith("/static/"):
        return route

    async def handler(call: HttpCall) -> web.StreamResponse:
        try:
            return await route.handler(call)
        except HubError as error:
            if wants_json(call.request):
                raise
            back = local_path(call.request.path) if call.request.method == "GET" else "/"
            data = {"error": error.as_dict(), "back": "/" if back == route.path else back}
            return renderer.respond(call, Page("error", "That did not work", data, status=error.http_status))

    return replace(route, handler=handler)
