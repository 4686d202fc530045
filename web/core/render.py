"""Pages as HTML or JSON, and fragments for the live socket: templates, texts, times and headers come together here."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from aiohttp import web
from msgspec import Struct, field

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from hub.gateway.pages import Page, PageTable
from web.core import moments
from web.core.assets import Assets
from web.core.headers import new_nonce, page_headers
from web.core.i18n import LANGUAGES, catalogue
from web.core.navigation import ON_A_PHONE, Group, navigation
from web.core.preferences import THEME_ICONS, THEMES, Preferences, read_preferences
from web.core.template_loader import PageTemplates
from web.core.texts import MODES, SCRIPT_TEXTS

FRAME = "base/shell.html"
"""The template around every page."""


class RenderedPage(Struct, frozen=True):
    """The content of a page, before it is rendered as HTML or JSON.

    Attributes:
        name: The name of its template, and the class of its main element.
        title: Message id of its title.
        data: Plain data: the input of the template, and the page as JSON.
        path: The entry of the navigation, or its tab, that it belongs to.
        status: HTTP status.
        secret: Whether it shows a secret: such a page is not compressed, so that its length reveals nothing about it.
    """

    name: str
    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    status: int = 200
    secret: bool = False


class Renderer:
    """Turns pages into responses; the template of a page is loaded in a thread when it is first shown.

    Args:
        app: The application of the requests.
        assets: The static files.
        pages: The navigation, and the pages of integrations with their texts.
        home_name: Returns the name of the home.
        hub_language: Returns the hub's language.
        zone: Returns the hub's time zone.
        wall_time: Seconds since the epoch.
    """

    def __init__(
        self,
        app: web.Application,
        assets: Assets,
        pages: PageTable,
        *,
        home_name: Callable[[], str],
        hub_language: Callable[[], str],
        zone: Callable[[], ZoneInfo],
        wall_time: Callable[[], float],
    ) -> None:
        self.assets = assets
        self._pages = pages
        self._home_name = home_name
        self._hub_language = hub_language
        self._zone = zone
        self._wall_time = wall_time
        self.waiting: Callable[[HttpCall], Awaitable[int | None]] | None = None
        """Returns how many things wait for the visitor's word, which the navigation shows."""
        self.person_name: Callable[[HttpCall], str] = lambda call: ""
        """Returns the name of the person who looks; empty when it is not known."""
        self.has_twelve_hours: Callable[[], bool] = lambda: False
        """Returns whether times are written as 3:30 pm."""
        self.recovery = False
        """Whether only the first pages are there."""
        self._templates = PageTemplates(app, assets.url, (self._frame,))
        self._loaded: set[tuple[str, str]] = set()
        self._loading = asyncio.Lock()

    def preferences(self, call: HttpCall) -> Preferences:
        """Return the preferences of the requesting browser."""
        return read_preferences(call.request, self._hub_language())

    def groups(self) -> list[Group]:
        """Return the navigation, with the pages of integrations."""
        return navigation(self._pages.all(), recovery=self.recovery)

    async def prepare(self, language: str, template: str = FRAME) -> None:
        """Load the texts of a language, the names of static files and a template, without blocking the loop.

        Cancelling it loses nothing: the thread finishes, and the next call waits for it.
        """
        if (language, template) in self._loaded:
            return
        async with self._loading:
            await asyncio.to_thread(self._load, language, template)
        self._loaded.add((language, template))

    async def respond(self, call: HttpCall, page: RenderedPage) -> web.Response:
        """Answer with the page as HTML, or as JSON when that was requested."""
        if wants_json(call.request):
            return json_response(page.data, status=page.status)
        return await self._respond(call.request, page, **await self._around(call))

    async def show(self, call: HttpCall, page: Page) -> web.Response:
        """Answer with a page of an integration.

        Raises:
            HubError: Its template cannot be rendered.
        """
        data = await page.data(call)
        if wants_json(call.request):
            return json_response(data)
        from jinja2 import TemplateError

        name = "settings_integration" if page.under == "/settings" else "integration"
        shown = RenderedPage(name, page.title, path=page.path, secret=True)
        try:
            async with self._loading:
                content = await asyncio.to_thread(self._templates.read, page.template)
            around = await self._around(call)
            return await self._respond(call.request, shown, **around, content=content, data=data)
        except TemplateError as error:
            raise HubError(f"{page.template.name} cannot be rendered: {error}") from error

    async def unknown(self, request: web.Request) -> web.Response:
        """Answer a browser's request for an unknown address, signed in or not."""
        return await self._respond(request, RenderedPage("unknown", "Page not found", status=404))

    async def _around(self, call: HttpCall) -> dict[str, Any]:
        """Return the shell's data about the viewer."""
        waiting = None if self.waiting is None else await self.waiting(call)
        return {"waiting": waiting, "person": self.person_name(call)}

    async def _respond(self, request: web.Request, page: RenderedPage, **more: Any) -> web.Response:
        template = f"pages/{page.name}.html"
        await self.prepare(read_preferences(request, self._hub_language()).language, template)
        nonce = new_nonce()
        context = {
            "page": {**page.data, "title": page.title, "path": page.path, "name": page.name},
            "here": request.path_qs if request.method == "GET" else page.path or "/",
            "nonce": nonce,
            "waiting": None,
            "person": "",
            **more,
        }
        response = await self._templates.respond(template, request, context, page.status)
        response.headers.extend(page_headers(nonce, self._pages.frame_origin(request)))
        if not page.secret and "gzip" in request.headers.get("Accept-Encoding", ""):
            response.enable_compression(web.ContentCoding.gzip)
        return response

    def fragment(self, name: str, language: str, **data: Any) -> str:
        """Return one fragment as HTML."""
        return self._templates.get(f"fragments/{name}.html").render(**self._words(language), **data)

    def when(self, ts_ms: int | None, *, seconds: bool = False) -> str:
        """Return a time that stays right while it is shown, such as "yesterday 7:30": a phrase, like `spoken`."""
        if not ts_ms:
            return ""
        return moments.clock(
            ts_ms / 1000, self._wall_time(), self._zone(), exact=seconds, twelve=self.has_twelve_hours()
        )

    def spoken(self, ts_ms: int | None) -> str:
        """Return a time as people say it now, such as "2 min ago": a phrase, which templates translate."""
        if not ts_ms:
            return ""
        return moments.spoken(ts_ms / 1000, self._wall_time(), self._zone(), twelve=self.has_twelve_hours())

    def day(self, iso: str) -> str:
        """Return a day, `YYYY-MM-DD`, for people: a phrase. Anything else is returned as it is."""
        try:
            return moments.day(dt.date.fromisoformat(iso), self.today())
        except ValueError:
            return iso

    def now_ms(self) -> int:
        """Return the time, in ms since the epoch."""
        return int(self._wall_time() * 1000)

    def local(self, ts_ms: float) -> dt.datetime:
        """Return a time in the hub's time zone."""
        return dt.datetime.fromtimestamp(ts_ms / 1000, self._zone())

    def today(self) -> dt.date:
        """Return the day in the hub's time zone."""
        return self.local(self._wall_time() * 1000).date()

    def iso(self, ts_ms: int | None) -> str:
        """Return a time for machines, in the hub's time zone."""
        return self.local(ts_ms).isoformat(timespec="seconds") if ts_ms else ""

    async def _frame(self, request: web.Request) -> dict[str, Any]:
        """Return what every page shows: the context processor of the pages."""
        preferences = read_preferences(request, self._hub_language())
        translate = catalogue(preferences.language).gettext
        return {
            **self._words(preferences.language),
            "theme": preferences.theme,
            "keys": preferences.keys,
            "home_name": self._home_name(),
            "languages": LANGUAGES,
            "theme_options": [(name, translate(text), THEME_ICONS[name]) for name, text in THEMES.items()],
            "folded": preferences.folded,
            "twelve_hours": self.has_twelve_hours(),
            "navigation": self.groups(),
            "on_a_phone": ON_A_PHONE,
            "script_texts": {text: translate(text) for text in SCRIPT_TEXTS},
        }

    def _words(self, language: str) -> dict[str, Any]:
        texts = catalogue(language).with_texts(self._pages.texts(language))
        return {
            "_": texts.gettext,
            "ngettext": texts.ngettext,
            "language": language,
            "mode_texts": MODES,
            "ui": self._components(language),
            "day_text": lambda iso: texts.gettext(self.day(iso)),
        }

    def _components(self, language: str) -> SimpleNamespace:
        texts = catalogue(language)
        return self._templates.components(language, {"_": texts.gettext, "ngettext": texts.ngettext})

    def _load(self, language: str, template: str) -> None:
        self.assets.names()
        self._components(language)
        self._templates.load(template)


def wants_json(request: web.BaseRequest) -> bool:
    """Whether the client asked for JSON: `?format=json`, or an Accept header that names it and not HTML."""
    if request.query.get("format") == "json":
        return True
    accept = request.headers.get("Accept", "")
    return "application/json" in accept and "text/html" not in accept


def json_response(data: Any, *, status: int = 200) -> web.Response:
    """Answer with JSON that no cache keeps."""
    return web.Response(
        body=orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Vary": "Cookie, Accept"},
    )


def see_other(path: str) -> web.Response:
    """Redirect a posted form to the next page."""
    return web.Response(status=303, headers={"Location": path, "Cache-Control": "no-store"})
