"""Other origins than our own: those in `http: cors_origins:` for `/v1`, and the browser extension for its WebSockets.

Each comes with a token of its own; nothing that its browser sends by itself counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiohttp import web

from hub.core.surfaces import Route

API_PATHS = "/v1/"
"""Paths of other people's APIs, whose programs retry after a 503, and never after a 404."""
EXTENSION = "chrome-extension://jlplhcdajofaoeapmodcmjimbfokfbmd"
"""The browser extension that comes with the hub; the key in its manifest makes the name."""
ALLOWED = web.RequestKey("cors_origin", str)
"""Where a request keeps the origin that may read its answer."""
PREFLIGHT_S = 600
METHODS = "GET, POST, DELETE"


def judge_origin(request: web.Request, origins: Collection[str], route: Route | None = None) -> bool:
    """Return whether the page that sent a request may call its path; its browser sends no cookie there."""
    origin = request.headers.get("Origin")
    if origin == EXTENSION:
        allowed = route is not None and route.extension
    else:
        allowed = origin in origins and request.path.startswith(API_PATHS)
    if origin is None or not allowed:
        return False
    request[ALLOWED] = origin
    return True


def allow_origin(request: web.Request) -> Mapping[str, str]:
    """Return the headers that let a browser's page read the answer; none for our own pages."""
    origin = request.get(ALLOWED)
    return {} if origin is None else {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


def preflight(request: web.Request, origins: Collection[str]) -> web.Response | None:
    """Return the answer to a browser that asks whether a page may call; None when it may not, or did not ask."""
    if request.method != "OPTIONS" or not judge_origin(request, origins):
        return None
    asked = request.headers.get("Access-Control-Request-Headers", "")
    names = [name for each in asked.split(",") if (name := each.strip()).replace("-", "").isalnum()]
    headers = {
        **allow_origin(request),
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": ", ".join(names),
        "Access-Control-Max-Age": str(PREFLIGHT_S),
    }
    return web.Response(status=204, headers=headers)
