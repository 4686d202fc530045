"""The page *Connected*: the hub, and each browser, app, node and program that talks to it, by when it was used last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.phrases import phrase
from hub.core.surfaces import HttpCall
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer

PATH = "/devices/connected"
TOPIC = "connected"
HUB = "gateway"
AGAIN_S = 20.0
"""An entry grows idle and stale without an event."""
STATES: Mapping[str, tuple[str, str]] = {
    "active": (phrase("Active"), "good"),
    "idle": (phrase("Idle"), ""),
    "stale": (phrase("Stale"), "warn"),
}
"""The word and the tone of each state."""
KINDS: Mapping[str, tuple[str, str]] = {
    HUB: (phrase("This hub"), "house"),
    "node": (phrase("Node"), "cable"),
    "webchat": (phrase("Dashboard"), "globe"),
    "ui": (phrase("App"), "monitor"),
    "backend": (phrase("Program"), "terminal"),
}
"""What an instance is, and its icon, by its mode."""
PHONES = ("ios", "ipados", "android", "iphone", "ipad")


class ConnectedPage:
    """The page, for administrators.

    Args:
        client: Calls `system-presence`.
        changed: Sends the live topic's state again, if somebody watches it.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, changed: Callable[[str], None]) -> None:
        self._renderer = renderer
        self._client = client
        self._tell = changed
        self._again: asyncio.TimerHandle | None = None

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/connected`: who is connected."""
        data = self._shown(await self._client.ask(call, "system-presence"))
        return await self._renderer.respond(call, RenderedPage("connected", "Connected", data, PATH))

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the list, and look again while somebody watches."""
        data = self._shown(await self._client.read("system-presence"))
        if self._again is not None:
            self._again.cancel()
        self._again = asyncio.get_running_loop().call_later(AGAIN_S, self._tell, TOPIC)
        return ({"t": "html", "id": "connected", "html": self._renderer.fragment("connected", language, **data)},)

    def _shown(self, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"instances": [self._entry(each) for each in entries]}

    def _entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        kind = "node" if "node" in entry.get("roles", ()) else str(entry.get("mode"))
        name, icon = KINDS.get(kind, (phrase("Program"), "terminal"))
        if kind in ("node", "ui") and str(entry.get("platform")).lower().startswith(PHONES):
            icon = "smartphone"
        word, tone = STATES[entry["state"]]
        used_ms = entry["ts"] - 1_000 * float(entry.get("lastInputSeconds") or 0)
        return {
            "name": name if kind == HUB else entry.get("host") or entry.get("instanceId") or "",
            "kind": "" if kind == HUB else name,
            "icon": icon,
            "about": [each for each in (entry.get("version"), entry.get("ip")) if each],
            "used": "" if entry["state"] == "active" else self._renderer.spoken(used_ms),
            "word": word,
            "tone": tone,
            "state": entry["state"],
        }
