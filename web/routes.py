"""The dashboard's routes: added to the gateway's table, and taken away again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aiohttp import web

from hub.core.errors import HubError
from hub.gateway.calls.contract import ADMIN, READ, WRITE, HttpCall, HttpHandler, Open, Route
from hub.gateway.calls.routes import RouteTable
from hub.tools.approval_rights import SCOPE
from web.chat.approvals_page import ApprovalsPage
from web.chat.chat_page import ChatPage
from web.core.assets import Assets
from web.core.form import read_fields
from web.core.lazy_pages import LazyPages
from web.core.live import LiveUpdates
from web.core.preferences import FORM, local_path, store_preferences
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.home.login_page import LoginPage
from web.home.overview_page import OverviewPage
from web.settings.configuration_page import ConfigurationPage

if TYPE_CHECKING:
    from web.automations.editor_pages import EditorPages

OWNER = "web"
FORM_LIMIT_BYTES = 262_144
CONFIG_LIMIT_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages that are served; in recovery mode there is neither chat nor workshop."""

    login: LoginPage
    overview: OverviewPage
    configuration: ConfigurationPage
    chat: ChatPage | None
    approvals: ApprovalsPage
    workshop: LazyPages[EditorPages] | None = None


def add_routes(
    table: RouteTable, renderer: Renderer, assets: Assets, live: LiveUpdates, pages: Pages
) -> Callable[[], None]:
    """Add the dashboard's routes.

    Returns:
        A function that takes them away again.
    """
    remove = [table.add(_told(route, renderer)) for route in _routes(renderer, assets, live, pages)]

    def remove_all() -> None:
        for take_away in remove:
            take_away()

    return remove_all


def _routes(renderer: Renderer, assets: Assets, live: LiveUpdates, pages: Pages) -> list[Route]:
    configuration, chat = pages.configuration, pages.chat
    home = "/chat" if chat is not None else "/overview"

    async def front(call: HttpCall) -> web.StreamResponse:
        return see_other(home)

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
        Route("GET", "/live", live_tab, OWNER, scope=READ, cookie=True, websocket=True),
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
    if pages.workshop is not None:
        routes += [
            *_automation_routes(pages.workshop),
            *_blueprint_routes(pages.workshop),
            *_script_routes(pages.workshop),
            *_memory_routes(pages.workshop),
            *_developer_routes(pages.workshop),
        ]
    return routes


def _automation_routes(pages: LazyPages[EditorPages]) -> list[Route]:
    on = pages.handler
    return [
        _page("/automations", on(lambda each: each.automations.list.show)),
        _page("/automations/history", on(lambda each: each.automations.list.history)),
        _form("/automations/turn", on(lambda each: each.automations.list.turn)),
        _page("/automations/new", on(lambda each: each.automations.edit.new), ADMIN),
        _page("/automations/trace-file", on(lambda each: each.automations.one.trace_file)),
        _page("/automations/{id}", on(lambda each: each.automations.one.show)),
        _page("/automations/{id}/traces", on(lambda each: each.automations.one.traces)),
        _page("/automations/{id}/edit", on(lambda each: each.automations.edit.show), ADMIN),
        _form("/automations/run", on(lambda each: each.automations.one.run)),
        _form("/automations/import-trace", on(lambda each: each.automations.one.import_trace)),
        _form("/automations/duplicate", on(lambda each: each.automations.one.duplicate), ADMIN),
        _form("/automations/delete", on(lambda each: each.automations.one.delete), ADMIN),
        _form("/automations/check", on(lambda each: each.automations.edit.check), ADMIN, CONFIG_LIMIT_BYTES),
        _form("/automations/edit", on(lambda each: each.automations.edit.edit), ADMIN, CONFIG_LIMIT_BYTES),
    ]


def _blueprint_routes(pages: LazyPages[EditorPages]) -> list[Route]:
    on = pages.handler
    return [
        _page("/blueprints", on(lambda each: each.blueprints.show)),
        _page("/blueprints/use", on(lambda each: each.blueprints.use), ADMIN),
        _form("/blueprints/use", on(lambda each: each.blueprints.make), ADMIN, CONFIG_LIMIT_BYTES),
        _form("/blueprints/import", on(lambda each: each.blueprints.import_), ADMIN, CONFIG_LIMIT_BYTES),
        _form("/blueprints/update", on(lambda each: each.blueprints.update), ADMIN),
        _form("/blueprints/remove", on(lambda each: each.blueprints.remove), ADMIN),
    ]


def _script_routes(pages: LazyPages[EditorPages]) -> list[Route]:
    on = pages.handler
    return [
        _page("/scripts", on(lambda each: each.scripts.show)),
        _page("/scripts/show", on(lambda each: each.scripts.one)),
        _page("/scripts/edit", on(lambda each: each.scripts.edit), ADMIN),
        _page("/scripts/new", on(lambda each: each.scripts.new), ADMIN),
        _form("/scripts/run", on(lambda each: each.scripts.run)),
        _form("/scripts/check", on(lambda each: each.scripts.check), ADMIN, CONFIG_LIMIT_BYTES),
        _form("/scripts/save", on(lambda each: each.scripts.save), ADMIN, CONFIG_LIMIT_BYTES),
        _form("/scripts/delete", on(lambda each: each.scripts.delete), ADMIN),
    ]


def _memory_routes(pages: LazyPages[EditorPages]) -> list[Route]:
    on = pages.handler
    return [
        _page("/memory", on(lambda each: each.memory.list.show)),
        _page("/memory/file", on(lambda each: each.memory.list.file)),
        _page("/memory/search", on(lambda each: each.memory.search.show)),
        _page("/memory/history", on(lambda each: each.memory.history.show)),
        _page("/memory/index", on(lambda each: each.memory.index.show)),
        _page("/memory/intents", on(lambda each: each.memory.intents.show)),
        _page("/memory/edit", on(lambda each: each.memory.edit.edit), WRITE),
        _page("/memory/new", on(lambda each: each.memory.edit.new), WRITE),
        _page("/memory/forget", on(lambda each: each.memory.edit.forget_form), WRITE),
        _form("/memory/save", on(lambda each: each.memory.edit.save), WRITE, CONFIG_LIMIT_BYTES),
        _form("/memory/delete", on(lambda each: each.memory.edit.delete)),
        _form("/memory/remember", on(lambda each: each.memory.edit.remember)),
        _form("/memory/forget", on(lambda each: each.memory.edit.forget)),
        _form("/memory/undo", on(lambda each: each.memory.history.undo)),
        _form("/memory/intents/add", on(lambda each: each.memory.intents.add)),
        _form("/memory/intents/remove", on(lambda each: each.memory.intents.remove)),
        _form("/memory/index", on(lambda each: each.memory.index.act), ADMIN),
    ]


def _developer_routes(pages: LazyPages[EditorPages]) -> list[Route]:
    on = pages.handler
    return [
        _page("/developer", on(lambda each: each.developer.show), ADMIN),
        _form("/developer/set", on(lambda each: each.developer.set), ADMIN),
        _form("/developer/remove", on(lambda each: each.developer.remove), ADMIN),
        _page("/developer/events", on(lambda each: each.developer.events), ADMIN),
        _form("/developer/fire", on(lambda each: each.developer.fire), ADMIN),
        _page("/developer/services", on(lambda each: each.developer.services), ADMIN),
        _form("/developer/services", on(lambda each: each.developer.call), ADMIN),
        _page("/developer/templates", on(lambda each: each.developer.templates), ADMIN),
        _form("/developer/templates", on(lambda each: each.developer.render), ADMIN),
        _form("/developer/preview", on(lambda each: each.developer.preview), ADMIN),
        _page("/developer/mqtt", on(lambda each: each.developer.mqtt), ADMIN),
    ]


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
            return await renderer.respond(
                call, RenderedPage("error", "That did not work", data, status=error.http_status)
            )

    return replace(route, handler=handler)
