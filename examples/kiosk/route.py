"""A route: an address of the hub's web server.

Its scope says who may use it; it is an administrator's when none is given, and `Open.PUBLIC` or `Open.SELF` let others
in. `cookie=True` admits a browser that is signed in to the dashboard. Import aiohttp inside the handler.

The contract: `hub/core/surfaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.surfaces import READ, HttpCall, Route
from hub.host import IntegrationHost

if TYPE_CHECKING:
    from aiohttp import web


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Serve `/kiosk/time`."""

    async def time(call: HttpCall) -> web.StreamResponse:
        from aiohttp import web

        return web.json_response({"time_zone": str(host.time_zone)})

    host.routes.add(Route("GET", "/kiosk/time", time, host.domain, scope=READ, cookie=True))
