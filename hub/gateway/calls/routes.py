"""The route table: every HTTP path the hub serves, with the scope it needs and the part that owns it.

It grows and shrinks while the hub runs, and it is the registry that security tests walk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct

from hub.core.context import SCOPES
from hub.core.errors import Conflict, InvalidRequest
from hub.core.surface_group import SurfaceGroup
from hub.core.surface_table import Row, name_of, of_row
from hub.core.surfaces import HttpCall, HttpHandler, Open, Route, RouteGroups

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
UPGRADE = "WEBSOCKET"
"""What the method of a WebSocket route counts as, so that `/` may be a page and a WebSocket."""
SEGMENT_LIMIT = 32
"""A path of more segments than this matches nothing."""

_PARAMETER = re.compile(r"^\{([a-z_]+)(:\*)?\}$")
_LITERAL = re.compile(r"^[^{}?#\s]*$")
_REST = object()
_ONE = object()
_NO_PARAMS: Mapping[str, str] = {}


class RouteMatch(Struct, frozen=True):
    """A route that fits a request, and its path parameters."""

    route: Route
    params: Mapping[str, str]


class RouteTable:
    """Routes by method and path; a literal segment wins over a parameter, a parameter over the rest of a path."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, Route]] = {}
        self._tree: dict[Any, Any] = {}
        self._all: list[Route] = []
        self._groups: dict[str, SurfaceGroup[Route]] = {}

    def __iter__(self) -> Iterator[Route]:
        return iter(tuple(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def add(self, route: Route) -> Callable[[], None]:
        """Add a route.

        Returns:
            A function that removes it; calling it twice does no harm.

        Raises:
            InvalidRequest: Its method, path or scope cannot be.
            Conflict: Another part has this method and path already.
        """
        keys, names = _parse(route)
        if route.method not in METHODS:
            raise InvalidRequest(f"route {route.path}: {route.method} is not one of {', '.join(sorted(METHODS))}")
        if route.scope not in SCOPES and route.scope not in tuple(Open):
            raise InvalidRequest(f"route {route.method} {route.path}: there is no scope {route.scope!r}")
        if route.websocket and route.method != "GET":
            raise InvalidRequest(f"route {route.path}: a WebSocket is opened with GET")
        place = self._place(route.path, keys)
        method = UPGRADE if route.websocket else route.method
        if method in place:
            owner = _route_of(place[method]).owner
            raise Conflict(f"{method} {route.path} belongs to {owner} already; {route.owner} cannot have it")
        place[method] = (route, names) if names else route
        self._all.append(route)

        def remove() -> None:
            if method in place and _route_of(place[method]) is route:
                del place[method]
                self._all.remove(route)

        return remove

    def add_groups(self, groups: RouteGroups, rows: Mapping[str, Iterable[Row]]) -> None:
        """Add routes as the table of surfaces has them; they are imported with the first request to one of their group.

        A group that the table does not have is imported at once.
        """
        for name, load in groups.items():
            if name not in rows:
                for route in load():
                    self.add(route)
                continue
            group = SurfaceGroup(name, rows[name], load)
            for row in group.rows:
                route = of_row(Route, row, handler=_delegating(row, group))
                self.add(route)
                self._groups[route.name] = group

    async def load(self, match: RouteMatch) -> RouteMatch:
        """Return a match with the whole route, its module imported on first use.

        Raises:
            HubError: It cannot be imported.
        """
        name = match.route.name
        group = self._groups.get(name)
        return match if group is None else RouteMatch((await group.get())[name], match.params)

    def match(self, method: str, path: str, *, websocket: bool = False) -> RouteMatch | None:
        """Return the route for a decoded path, or None.

        HEAD is served by GET. A WebSocket upgrade is served by a route with `websocket`, which may exist beside a GET
        of the same path.
        """
        if websocket:
            method = UPGRADE
        elif method == "HEAD":
            method = "GET"
        exact = self._exact.get(path)
        if exact is not None and (route := exact.get(method)) is not None:
            return RouteMatch(route, _NO_PARAMS)
        segments = path.split("/")[1:]
        if len(segments) > SEGMENT_LIMIT:
            return None
        return _walk(self._tree, segments, 0, (), method)

    def methods_of(self, path: str) -> list[str]:
        """Return the methods of a path, for 405."""
        return sorted(method for method in METHODS if self.match(method, path) is not None)

    def _place(self, path: str, keys: list[Any]) -> dict[str, Any]:
        if all(isinstance(key, str) for key in keys):
            return self._exact.setdefault(path, {})
        node = self._tree
        for key in keys:
            node = node.setdefault(key, {})
        place: dict[str, Any] = node.setdefault(None, {})
        return place


def _delegating(row: Row, group: SurfaceGroup[Route]) -> HttpHandler:
    """Return a handler that imports the route's own and calls it."""

    async def handle(call: HttpCall) -> web.StreamResponse:
        return await (await group.get())[name_of(row)].handler(call)

    return handle


def _route_of(entry: Any) -> Route:
    route: Route = entry[0] if isinstance(entry, tuple) else entry
    return route


def _parse(route: Route) -> tuple[list[Any], tuple[str, ...]]:
    if not route.path.startswith("/"):
        raise InvalidRequest(f"the path of a route begins with /, not {route.path!r}")
    keys: list[Any] = []
    names: list[str] = []
    segments = route.path.split("/")[1:]
    for place, segment in enumerate(segments):
        if parameter := _PARAMETER.match(segment):
            if parameter[2] and place != len(segments) - 1:
                raise InvalidRequest(f"route {route.path}: only the last segment may take the rest of the path")
            keys.append(_REST if parameter[2] else _ONE)
            names.append(parameter[1])
        elif _LITERAL.match(segment):
            keys.append(segment)
        else:
            raise InvalidRequest(f"route {route.path}: {segment!r} is neither a word nor {{name}} nor {{name:*}}")
    return keys, tuple(names)


def _walk(node: dict[Any, Any], segments: list[str], at: int, found: tuple[str, ...], method: str) -> RouteMatch | None:
    if at == len(segments):
        entry = node.get(None, {}).get(method)
        return RouteMatch(entry[0], dict(zip(entry[1], found, strict=True))) if entry is not None else None
    segment = segments[at]
    if (below := node.get(segment)) is not None and (match := _walk(below, segments, at + 1, found, method)):
        return match
    if segment and (below := node.get(_ONE)) is not None:
        match = _walk(below, segments, at + 1, (*found, segment), method)
        if match is not None:
            return match
    if (rest := node.get(_REST)) is not None and (entry := rest.get(None, {}).get(method)) is not None:
        return RouteMatch(entry[0], dict(zip(entry[1], (*found, "/".join(segments[at:])), strict=True)))
    return None
