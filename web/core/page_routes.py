"""Declarations of a page group's routes: pages that a browser opens, and forms that it posts."""

from __future__ import annotations

from hub.core.surfaces import READ, WRITE, HttpHandler, Route

OWNER = "web"
FORM_LIMIT_BYTES = 262_144
TEXT_LIMIT_BYTES = 4_194_304
"""Bytes of a form that holds a whole file."""


def page(path: str, handler: HttpHandler, scope: str = READ) -> Route:
    """Return the route of a page; a browser that is not signed in is sent to the sign-in page."""
    return Route("GET", path, handler, OWNER, scope=scope, cookie=True, login_redirect=True)


def form(path: str, handler: HttpHandler, scope: str = WRITE, body_limit: int = FORM_LIMIT_BYTES) -> Route:
    """Return the route of a form."""
    return Route("POST", path, handler, OWNER, scope=scope, cookie=True, body_limit=body_limit)
