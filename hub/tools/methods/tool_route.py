"""`POST /tools/invoke`: what the route table knows of it before anybody uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import HubError
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import WRITE, HttpHandler, Route

OWNER = "gateway"
LIMIT_BYTES = 2 * 1024 * 1024

NAME = All(str, Length(min=1, max=64))
KEY = AnyOf(None, All(str, Length(min=1, max=2048)))

_BODY = Schema(
    {
        Required("tool"): NAME,
        Optional("action", default=None): AnyOf(None, All(str, Length(max=200))),
        Optional("args", default=dict): dict,
        Optional("sessionKey", default=None): KEY,
        Optional("dryRun", default=False): boolean,
    }
)


def tool_route(handler: HttpHandler) -> Route:
    """Return the route, with the body `{tool, action?, args?, sessionKey?, dryRun?}`."""
    return Route(
        "POST",
        "/tools/invoke",
        handler,
        OWNER,
        scope=WRITE,
        body=_BODY,
        body_limit=LIMIT_BYTES,
        show_error=_show_error,
    )


def _show_error(error: HubError) -> Mapping[str, Any]:
    return {"ok": False, "error": {"code": error.code, "type": error.code.lower(), "message": error.message}}
