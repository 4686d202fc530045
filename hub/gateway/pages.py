"""The pages that integrations add to the dashboard, and the entries of its navigation.

The dashboard adds its own entries through the same table, and renders every page.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web
from msgspec import Struct, field

from hub.core.errors import Conflict, InvalidRequest, Unavailable
from hub.core.surfaces import READ, HttpCall, Route
from hub.gateway.calls.routes import RouteTable

_PATH = re.compile(r"^(/[a-z0-9][a-z0-9_-]*)+$")


class NavigationItem(Struct, frozen=True):
    """One entry of the dashboard's navigation; titles are message ids.

    Attributes:
        icon: One of `web/templates/base/icons.html`.
        tabs: Pages that belong together and are shown as tabs above each of them.
        short: The title where there is little room, as in the bar of a phone; the title itself when empty.
        position: Entries are shown by position, then in the order in which they were added.
        badge: Returns how many things on the page wait for a person.
    """

    path: str
    title: str
    icon: str = ""
    tabs: tuple[NavigationItem, ...] = ()
    short: str = ""
    position: int = 50
    badge: Callable[[], int] | None = None

    def holds(self, path: str) -> bool:
        """Whether a page is this one, or one of its tabs."""
        return path == self.path or any(tab.path == path for tab in self.tabs)


class Page(Struct, frozen=True):
    """A page of an integration: an address, an entry in the navigation and a template with its data.

    Attributes:
        path: Its address, `/greenhouse`.
        title: In English, for its heading and the navigation.
        template: A file of Jinja and HTML: what the page shows below its heading. It sees the data as `data`, and
            translates a text with `_("…")`.
        data: Returns plain data: what the template reads, and the page as JSON.
        scope: What a visitor must be allowed to do.
        icon, short, position, badge: See `NavigationItem`.
        texts: Translations of the title and of the template's texts: `{"zh-CN": {"Greenhouse": "温室"}}`.
    """

    path: str
    title: str
    template: Path
    data: Callable[[HttpCall], Awaitable[Mapping[str, Any]]]
    scope: str = READ
    icon: str = "list"
    short: str = ""
    position: int = 50
    badge: Callable[[], int] | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


RenderPage = Callable[[HttpCall, Page], Awaitable[web.StreamResponse]]
FrameOrigin = Callable[[web.BaseRequest], str]
"""Returns the origin that pages may show in a frame, for the browser of a request; empty for none."""


class PageTable:
    """The pages and the navigation; both grow and shrink while the hub runs.

    Args:
        routes: Where the addresses of pages are added.
    """

    def __init__(self, routes: RouteTable) -> None:
        self.render: RenderPage | None = None
        self._frame: FrameOrigin | None = None
        self._routes = routes
        self._entries: list[NavigationItem] = []
        self._pages: list[Page] = []

    def add(self, page: Page, owner: str) -> Callable[[], None]:
        """Add a page, its route and its entry in the navigation.

        Returns:
            A function that removes them.

        Raises:
            InvalidRequest: Its path is not valid, or there is no such template.
            Conflict: Another part has this address.
        """
        if not _PATH.match(page.path):
            raise InvalidRequest(f"page {page.path}: expected an address such as /{owner}")
        if not page.template.is_file():
            raise InvalidRequest(f"page {page.path}: there is no template {page.template}")

        async def show(call: HttpCall) -> web.StreamResponse:
            if self.render is None:
                raise Unavailable("the dashboard is not open")
            return await self.render(call, page)

        route = Route("GET", page.path, show, owner, scope=page.scope, cookie=True, login_redirect=True)
        remove_route = self._routes.add(route)
        entry = NavigationItem(
            page.path, page.title, page.icon, short=page.short, position=page.position, badge=page.badge
        )
        remove_entry = self.add_entry(entry)
        self._pages.append(page)

        def remove() -> None:
            remove_route()
            remove_entry()
            _remove(self._pages, page)

        return remove

    def add_entry(self, entry: NavigationItem) -> Callable[[], None]:
        """Add an entry of the navigation, whose page is served elsewhere; return a function that removes it."""
        self._entries.append(entry)
        return lambda: _remove(self._entries, entry)

    def frame(self, origin: FrameOrigin) -> Callable[[], None]:
        """Allow pages to show frames and pictures of a further origin; return the function that undoes it.

        Raises:
            Conflict: Another integration has such an origin.
        """
        if self._frame is not None:
            raise Conflict("another integration shows frames of an origin of its own")
        self._frame = origin

        def remove() -> None:
            self._frame = None

        return remove

    def frame_origin(self, request: web.BaseRequest) -> str:
        """Return the origin that pages may show in a frame; empty if there is none."""
        return "" if self._frame is None else self._frame(request)

    def navigation(self) -> list[NavigationItem]:
        """Return the entries in the order in which they are shown."""
        return sorted(self._entries, key=lambda entry: entry.position)

    def texts(self, language: str) -> dict[str, tuple[str, ...]]:
        """Return the translations of all pages, as a catalogue."""
        found: dict[str, tuple[str, ...]] = {}
        for page in self._pages:
            found.update({id: (text,) for id, text in page.texts.get(language, {}).items()})
        return found


def _remove(items: list[Any], item: Any) -> None:
    items[:] = [each for each in items if each is not item]
