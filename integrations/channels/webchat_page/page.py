"""The routes of a web chat page: the page itself, its script and style, and its WebSocket."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from aiohttp import web

from hub.core.errors import NotFound
from hub.core.languages import asked_language
from hub.core.surfaces import HttpCall, Open, Route
from integrations.channels.webchat_page.channel import TEXT_LIMIT, WebchatPage

FILES = {"page.js": "text/javascript", "page.css": "text/css"}
_HERE = Path(__file__).parent


def page_routes(channel: WebchatPage, account: Mapping[str, Any], language: str) -> list[Route]:
    """Return the routes of an account.

    Args:
        channel: Talks with its visitors.
        account: As configured.
        language: The home's, for browsers with none of our languages.
    """
    path = f"/webchat/{channel.account}"

    async def show(call: HttpCall) -> web.StreamResponse:
        """`GET /webchat/<account>`: the page."""
        chosen = asked_language(call.request.headers.get("Accept-Language"), tuple(_texts()), language)
        texts = _texts()[chosen]
        fields = {
            "language": chosen,
            "path": path,
            "title": account["title"],
            "greeting": account["greeting"],
            "limit": str(TEXT_LIMIT),
            "texts": json.dumps(texts),
            **texts,
        }
        body = _template().substitute({name: html.escape(value) for name, value in fields.items()})
        return web.Response(text=body, content_type="text/html", headers=_headers(account["frame_ancestors"]))

    async def serve_file(call: HttpCall) -> web.StreamResponse:
        """`GET /webchat/<account>/<file>`: its script and style.

        Raises:
            NotFound: There is no such file.
        """
        name = call.params["file"]
        if name not in FILES:
            raise NotFound("there is no such file")
        return web.Response(text=_file(name), content_type=FILES[name], headers={"Cache-Control": "no-cache"})

    return [
        Route("GET", path, show, channel.name, Open.SELF),
        Route("GET", f"{path}/{{file}}", serve_file, channel.name, Open.SELF),
        Route("GET", path, channel.serve, channel.name, Open.SELF, websocket=True),
    ]


def _headers(ancestors: list[str]) -> dict[str, str]:
    """Return headers that restrict the page and its framing; browsers prefer `frame-ancestors` to `X-Frame-Options`."""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "data:",
        "connect-src": "'self'",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": " ".join(ancestors) or "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-store",
        "Vary": "Accept-Language",
    }


@cache
def _texts() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads(_file("texts.json"))
    return texts


@cache
def _template() -> Template:
    return Template(_file("page.html"))


@cache
def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
