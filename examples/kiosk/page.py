"""A page of the dashboard, with an entry in its navigation: `/kiosk`.

- `scope` says who sees it: without it everybody who can sign in, with `scope=ADMIN` administrators only.
- `data` returns plain data, which is also the page as JSON (`/kiosk?format=json`). Texts are written in English and
  translated by `texts`.
- A form posts to a route of yours: `host.routes.add(Route("POST", "/kiosk/water", handler, "kiosk", scope=WRITE,
  cookie=True))`. Scripts and styles must come from a route of yours too; those of other servers are not loaded.

The contract: `hub/gateway/pages.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.core.surfaces import HttpCall
from hub.gateway.pages import Page
from hub.host import IntegrationHost

CHINESE = {"Kiosk": "我的 Kiosk", "It is {degrees} °C.": "现在是 {degrees} °C。"}


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Show the page."""

    async def data(call: HttpCall) -> Mapping[str, Any]:
        return {"degrees": 21}

    template = Path(__file__).with_name("page.html")
    host.pages.add(Page("/kiosk", "Kiosk", template, data, texts={"zh-CN": CHINESE}))
