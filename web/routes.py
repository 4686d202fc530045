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
from web.automation_pages import AutomationPages
from web.form import read_fields
from web.live import Live
from web.memory_pages import MemoryPages
from web.pages.approvals import ApprovalsPage
from web.pages.blueprints import BlueprintsPage
from web.pages.chat import ChatPage
from web.pages.configuration import ConfigurationPage
from web.pages.developer import DeveloperPage
from web.pages.login import LoginPage
from web.pages.overview import OverviewPage
from web.pages.scripts import ScriptsPage
from web.preferences import FORM, local_path, store_preferences
from web.render import Page, Renderer, json_response, see_other, wants_json

OWNER = "web"
FORM_LIMIT_BYTES = 262_144
CONFIG_LIMIT_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages that are served; in recovery mode there is no chat and there are no automations."""

    login: LoginPage
    overview: OverviewPage
    configuration: ConfigurationPage
    chat: ChatPage | None
    approvals: ApprovalsPage
    automations: AutomationPages | None = None
    blueprints: BlueprintsPage | None = None
    scripts: ScriptsPage | None = None
    developer: DeveloperPage | None = None
    memory: MemoryPages | None = None


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
    return [
        *routes,
        *_automation_routes(pages.automations),
        *_blueprint_routes(pages.blueprints),
        *_script_routes(pages.scripts),
        *_memory_routes(pages.memory),
        *_developer_routes(pages.developer),
    ]


def _automation_routes(pages: AutomationPages | None) -> list[Route]:
    if pages is None:
        return []
    return [
        _page("/automations", pages.list.show),
        _page("/automations/history", pages.list.history),
        _form("/automations/turn", pages.list.turn),
        _page("/automations/new", pages.edit.new, ADMIN),
        _page("/automations/trace-file", pages.one.trace_file),
        _page("/automations/{id}", pages.one.show),
        _page("/automations/{id}/traces", pages.one.traces),
        _page("/automations/{id}/edit", pages.edit.show, ADMIN),
        _form("/automations/run", pages.one.run),
        _form("/automations/import-trace", pages.one.import_trace),
        _form("/automations/duplicate", pages.one.duplicate, ADMIN),
        _form("/automations/delete", pages.one.delete, ADMIN),
        _form("/automations/check", pages.edit.check, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/automations/edit", pages.edit.edit, ADMIN, CONFIG_LIMIT_BYTES),
    ]


def _blueprint_routes(blueprints: BlueprintsPage | None) -> list[Route]:
    if blueprints is None:
        return []
    return [
        _page("/blueprints", blueprints.show),
        _page("/blueprints/use", blueprints.use, ADMIN),
        _form("/blueprints/use", blueprints.make, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/blueprints/import", blueprints.import_, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/blueprints/update", blueprints.update, ADMIN),
        _form("/blueprints/remove", blueprints.remove, ADMIN),
    ]


def _script_routes(scripts: ScriptsPage | None) -> list[Route]:
    if scripts is None:
        return []
    return [
        _page("/scripts", scripts.show),
        _page("/scripts/show", scripts.one),
        _page("/scripts/edit", scripts.edit, ADMIN),
        _page("/scripts/new", scripts.new, ADMIN),
        _form("/scripts/run", scripts.run),
        _form("/scripts/check", scripts.check, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/scripts/save", scripts.save, ADMIN, CONFIG_LIMIT_BYTES),
        _form("/scripts/delete", scripts.delete, ADMIN),
    ]


def _memory_routes(pages: MemoryPages | None) -> list[Route]:
    if pages is None:
        return []
    return [
        _page("/memory", pages.list.show),
        _page("/memory/file", pages.list.file),
        _page("/memory/search", pages.search.show),
        _page("/memory/history", pages.history.show),
        _page("/memory/index", pages.index.show),
        _page("/memory/intents", pages.intents.show),
        _page("/memory/edit", pages.edit.edit, WRITE),
        _page("/memory/new", pages.edit.new, WRITE),
        _page("/memory/forget", pages.edit.forget_form, WRITE),
        _form("/memory/save", pages.edit.save, WRITE, CONFIG_LIMIT_BYTES),
        _form("/memory/delete", pages.edit.delete),
        _form("/memory/remember", pages.edit.remember),
        _form("/memory/forget", pages.edit.forget),
        _form("/memory/undo", pages.history.undo),
        _form("/memory/intents/add", pages.intents.add),
        _form("/memory/intents/remove", pages.intents.remove),
        _form("/memory/index", pages.index.act, ADMIN),
    ]


def _developer_routes(developer: DeveloperPage | None) -> list[Route]:
    if developer is None:
        return []
    return [
        _page("/developer", developer.show, ADMIN),
        _form("/developer/set", developer.set, ADMIN),
        _form("/developer/remove", developer.remove, ADMIN),
        _page("/developer/events", developer.events, ADMIN),
        _form("/developer/fire", developer.fire, ADMIN),
        _page("/developer/services", developer.services, ADMIN),
        _form("/developer/services", developer.call, ADMIN),
        _page("/developer/templates", developer.templates, ADMIN),
        _form("/developer/templates", developer.render, ADMIN),
        _form("/developer/preview", developer.preview, ADMIN),
        _page("/developer/mqtt", developer.mqtt, ADMIN),
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
            return await renderer.respond(call, Page("error", "That did not work", data, status=error.http_status))

    return replace(route, handler=handler)
