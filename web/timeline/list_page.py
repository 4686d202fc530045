"""The list of the timeline: grouped by day, with tabs and filters, live."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall
from hub.security.people import People
from hub.timeline.happening import FILTERS, LISTED
from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import RenderedPage, Renderer
from web.core.texts import HAPPENING_OUTCOMES
from web.timeline.happening_view import PATH, HappeningView, happening_path, list_path
from web.timeline.pictures import KeptPictures

TABS = {
    "conversation": ["conversation", "person"],
    "automation": ["automation", "reminder"],
    "device": ["device"],
    "approval": ["approval"],
}
"""What each tab asks for; the address has the first word."""
EXACT = {"person": "person", "agent": "agentId", "entity": "entityId", "automation": "automationId"}
"""Filters by what `timeline.list` calls them."""
QUERY_LIMIT = 200


class TimelinePage:
    """The page, for owners.

    Args:
        client: Calls the methods for happenings.
        pulse: Counts changes of the timeline.
        pictures: What was seen in happenings.
        people: Returns the people of this home.
        automation_name: Returns people's name for an automation.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        view: HappeningView,
        pulse: PagePulse,
        pictures: KeptPictures,
        *,
        people: Callable[[], People],
        automation_name: Callable[[str], str],
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._view = view
        self._pulse = pulse
        self._pictures = pictures
        self._people = people
        self._automation_name = automation_name

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /timeline[?kind=&q=&person=&outcome=&day=&agent=&entity=&automation=&cursor=]`: the list."""
        query = call.request.query
        names = ("kind", "q", "outcome", "day", *EXACT)
        chosen = {name: query[name].strip()[:QUERY_LIMIT] for name in names if query.get(name, "").strip()}
        if chosen.get("kind") not in (*TABS, *LISTED):
            chosen.pop("kind", None)
        if chosen.get("outcome") not in FILTERS:
            chosen.pop("outcome", None)
        if _is_no_day(chosen.get("day", "")):
            chosen.pop("day", None)
        cursor = query.get("cursor", "")
        revision = self._pulse.revision
        found = await self._client.ask(call, "timeline.list", _asked(chosen) | ({"cursor": cursor} if cursor else {}))
        agents = (await self._client.ask(call, "agents.list"))["agents"]
        first = list_path(**chosen)
        data = {
            "days": self._view.days(found["happenings"]),
            "pictures": await self._pictures.shown(found["happenings"], happening_path),
            "chosen": chosen,
            "filtered": bool(chosen.keys() - {"kind"}),
            "tabs": [{"path": list_path(**{**chosen, "kind": kind}), "kind": kind} for kind in ("", *TABS)],
            "here": first,
            "people": [(each.id, each.name) for each in self._people().all()],
            "agents": [(each["id"], str(each.get("name") or each["id"])) for each in agents],
            "outcomes": HAPPENING_OUTCOMES,
            "only": self._only(chosen),
            "newer": first if cursor else "",
            "older": list_path(**chosen, cursor=found["next"]) if found["next"] else "",
            "live": not cursor,
            "topic": self._pulse.topic,
            "revision": revision,
        }
        return await self._renderer.respond(call, RenderedPage("timeline", "Timeline", data, PATH))

    def _only(self, chosen: dict[str, str]) -> list[dict[str, str]]:
        """Return the filters from a link, and the list without each."""
        names: dict[str, Callable[[str], str]] = {
            "entity": self._view.names.name,
            "automation": self._automation_name,
        }
        return [
            {
                "name": name,
                "value": chosen[name],
                "text": name_of(chosen[name]),
                "without": list_path(**{key: value for key, value in chosen.items() if key != name}),
            }
            for name, name_of in names.items()
            if name in chosen
        ]


def _asked(chosen: dict[str, str]) -> dict[str, Any]:
    """Return the parameters of `timeline.list`."""
    asked: dict[str, Any] = {EXACT[name]: chosen[name] for name in EXACT if name in chosen}
    if kind := chosen.get("kind"):
        asked["kind"] = TABS.get(kind, [kind])
    if "q" in chosen:
        asked["text"] = chosen["q"]
    return asked | {name: chosen[name] for name in ("outcome", "day") if name in chosen}


def _is_no_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return True
    return False
