"""The routes of a web chat page: the page itself, its script and style, and its WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall, Open, Route
from hub.gateway.standalone_page import StandalonePage
from integrations.channels.webchat_page.channel import TEXT_LIMIT, WebchatPage
from integrations.channels.webchat_page.uploads import FILES_LIMIT

_PAGE = StandalonePage(Path(__file__).parent, "page.html", {"page.js": "text/javascript", "page.css": "text/css"})
_HEADERS = {"Permissions-Policy": "camera=(), geolocation=(), microphone=(self)"}


def page_routes(channel: WebchatPage, account: Mapping[str, Any], language: str) -> list[Route]:
    """Return the routes of an account.

    Args:
        channel: Talks with its visitors.
        account: The account as configured.
        language: The home's, for browsers with none of our languages.
    """
    path = f"/webchat/{channel.account}"

    async def show(call: HttpCall) -> web.StreamResponse:
        """`GET /webchat/<account>`: the page."""
        fields = {"path": path, "title": account["title"], "greeting": account["greeting"], "limit": str(TEXT_LIMIT)}
        fields["files"] = str(FILES_LIMIT)
        return _PAGE.show(call, language, _HEADERS, _policy(account["frame_ancestors"]), **fields)

    async def serve_file(call: HttpCall) -> web.StreamResponse:
        """`GET /webchat/<account>/<file>`: its script and style."""
        return _PAGE.serve(call)

    return [
        Route("GET", path, show, channel.name, Open.SELF),
        Route("GET", f"{path}/{{file}}", serve_file, channel.name, Open.SELF),
        Route("GET", path, channel.serve, channel.name, Open.SELF, websocket=True),
    ]


def _policy(ancestors: list[str]) -> dict[str, str]:
    """Return the policy that restricts the page and its framing; browsers prefer it to `X-Frame-Options`."""
    return {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": " ".join(ancestors) or "'none'",
    }
