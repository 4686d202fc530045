"""The overview: open repairs, running parts, and recent activity."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from hub.core.repairs import Repair
from hub.core.surfaces import HttpCall
from web.core.live import Frame
from web.core.render import RenderedPage, Renderer
from web.core.texts import ACTIVITY, INTEGRATION_STATES, RUN_END, RUN_ENDS

TONES = {"set_up": "good", "failed": "bad", "retrying": "warn"}

Facts = Callable[[], Awaitable[Mapping[str, Any]]]
"""Returns the facts of the overview as plain data; see `web.home.overview_data`."""
Approvals = Callable[[HttpCall], Awaitable[Sequence[Mapping[str, Any]] | None]]
"""Returns what the card of approvals shows, or None; see `web.chat.approvals_page`."""
PairingRequests = Callable[[HttpCall], Awaitable[Sequence[Mapping[str, Any]] | None]]
"""Returns what the card of pairing requests shows, or None; see `web.channels.pairing_card`."""


class OverviewPage:
    """The overview.

    Args:
        facts: Returns the data of the overview.
        approvals: Returns open approvals to those who may answer them.
        pairing: Returns pairing requests to those who may answer them; None where there are none.
    """

    def __init__(self, renderer: Renderer, facts: Facts, approvals: Approvals, pairing: PairingRequests | None) -> None:
        self._renderer = renderer
        self._facts = facts
        self._approvals = approvals
        self._pairing = pairing

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /overview`."""
        pairing = None if self._pairing is None else await self._pairing(call)
        data = await self._data() | {"approvals": await self._approvals(call), "pairing": pairing}
        return await self._renderer.respond(call, RenderedPage("overview", "Overview", data, "/"))

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the overview."""
        html = self._renderer.fragment("overview", language, page=await self._data())
        return ({"t": "html", "id": "overview", "html": html},)

    async def _data(self) -> dict[str, Any]:
        facts = await self._facts()
        return {
            **facts,
            "since": self._renderer.when(facts["started_ms"]),
            "repairs": [_repair(repair) for repair in facts["repairs"]],
            "integrations": [_integration(each) for each in facts["integrations"]],
            "agents": [agent | {"path": f"/chat?session=agent:{agent['id']}:main"} for agent in facts["agents"]],
            "activity": [shown for event in facts["activity"] if (shown := self._activity(event)) is not None],
        }

    def _activity(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        data = event.get("data") or {}
        text = RUN_ENDS.get(str(data.get("status"))) if event["type"] == RUN_END else ACTIVITY.get(event["type"])
        if text is None:
            return None
        key = data.get("session_key")
        return {
            "text": text,
            "what": str(data.get("title") or key or data.get("file") or data.get("domain") or ""),
            "path": f"/chat?session={quote(str(key), safe='')}" if key else None,
            "when": self._renderer.when(event["ts_ms"]),
            "iso": self._renderer.iso(event["ts_ms"]),
        }


def _repair(repair: Repair) -> dict[str, Any]:
    shown = repair.as_dict()
    file = (repair.location or {}).get("file")
    line = (repair.location or {}).get("line")
    place = f"{file}:{line}" if line else file
    return shown | {
        "key": re.sub(r"[^A-Za-z0-9_-]", "_", f"{repair.source}-{repair.id}"),
        "place": place,
        "fix_path": f"/settings/files?file={quote(str(file), safe='')}#L{line or 1}" if file else None,
    }


def _integration(status: Mapping[str, Any]) -> dict[str, Any]:
    state = str(status.get("state"))
    return {
        "domain": status.get("domain"),
        "name": status.get("name") or status.get("domain"),
        "state": state,
        "state_text": INTEGRATION_STATES.get(state, state),
        "tone": TONES.get(state, ""),
        "reason": status.get("reason"),
    }
