"""The pages that integrations add to the dashboard, which shows them in its navigation and renders them."""

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


class Page(Struct, frozen=True):
    """A page of an integration: an address, an entry in the navigation and a template with its data.

    Attributes:
        path: Its address, `/greenhouse`.
        title: In English, for its heading and the navigation.
        template: A file of Jinja and HTML: what the page shows below its heading. It sees the data as `data`, and
            translates a text with `_("…")`.
        data: Returns plain data: what the template reads, and the page as JSON.
        scope: The required scope of a visitor.
        icon: One of the dashboard's icons (`web/frontend/icons.json`).
        under: The entry of the navigation that it is a tab of: `/devices`, `/tools`, `/settings`; else it is an entry
            of its own.
        position: Pages are shown by position, then in the order in which they were added.
        badge: Returns the number of things on the page that wait for a person.
        texts: Translations of the title and of the template's texts: `{"zh-CN": {"Greenhouse": "温室"}}`.
    """

    path: str
    title: str
    template: Path
    data: Callable[[HttpCall], Awaitable[Mapping[str, Any]]]
    scope: str = READ
    icon: str = "puzzle"
    under: str = ""
    position: int = 50
    badge: Callable[[], int] | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


RenderPage = Callable[[HttpCall, Page], Awaitable[web.StreamResponse]]
FrameOrigin = Callable[[web.BaseRequest], str]
"""Returns the origin that pages may show in a frame, for the browser of a request; empty for none."""


class PageTable:
    """The pages; they may be added and removed while the hub runs.

    Args:
        routes: The table to add the pages to.
    """

    def __init__(self, routes: RouteTable) -> None:
        self.render: RenderPage | None = None
        self._frame: FrameOrigin | None = None
        self._routes = routes
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
        self._pages.append(page)

        def remove() -> None:
            remove_route()
            self._pages[:] = [each for each in self._pages if each is not page]

        return remove

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

    def all(self) -> list[Page]:
        """Return the pages in the order in which they are shown."""
        return sorted(self._pages, key=lambda page: page.position)

    def texts(self, language: str) -> dict[str, tuple[str, ...]]:
        """Return the translations of all pages, as a catalogue."""
        found: dict[str, tuple[str, ...]] = {}
        for page in self._pages:
            found.update({id: (text,) for id, text in page.texts.get(language, {}).items()})
        return found
