"""Standing reminders, shown whenever their topic comes up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.agent.intents.intents import COOLDOWN_HOURS, COOLDOWN_HOURS_LIMIT, EXPIRES_DAYS, EXPIRES_DAYS_LIMIT, TEXT_LIMIT
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, number, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields
from web.core.render import RenderedPage, json_response, see_other, wants_json
from web.core.urls import memory_place
from web.memory.files_page import MemoryPageTools, flash_message, may_write

PATH = "/memory/intents"
TOPICS_CHARS = 5_000
HOUR_S = 3_600

_AGENT = All(string, Length(max=64))
_NUMBER = AnyOf(All(string, Length(max=16)), number)
ADD = Schema(
    {
        Required("topics"): All(string, Length(max=TOPICS_CHARS)),
        Required("remind"): All(string, Length(max=TEXT_LIMIT)),
        Optional("days", default=str(EXPIRES_DAYS)): _NUMBER,
        Optional("every_hours", default=f"{COOLDOWN_HOURS:g}"): _NUMBER,
        Optional("agent", default=""): _AGENT,
    }
)
REMOVE = Schema({Required("id"): All(string, Length(min=1, max=128)), Optional("agent", default=""): _AGENT})
EMPTY = {"topics": "", "remind": "", "days": str(EXPIRES_DAYS), "every_hours": f"{COOLDOWN_HOURS:g}"}


class MemoryIntentsPage:
    """The standing reminders.

    Args:
        tools: The dependencies shared by all memory pages.
    """

    def __init__(self, tools: MemoryPageTools) -> None:
        self._tools = tools

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/intents[?agent=ID]`: the active ones, and the form for another."""
        query = call.request.query
        return await self._shown(call, query.get("agent", ""), EMPTY, flash_message(query)["told"])

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/intents/add`: add a reminder for topics, one a line."""
        fields = read_fields(call, ADD)
        asked = fields.pop("agent")
        try:
            params = {
                "topics": [topic for line in re.split(r"[\r\n]+", fields["topics"]) if (topic := line.strip())],
                "remind": fields["remind"].strip(),
                "days": int(_number(fields["days"], "days")),
                "every_hours": _number(fields["every_hours"], "every_hours"),
                **self._tools.whose(asked),
            }
            intent = await self._tools.client.ask(call, "memory.intents.add", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._shown(call, asked, fields, error=error.message, status=error.http_status)
        return self._done(call, asked, intent, "standing")

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/intents/remove`: remove one, after the page's confirmation."""
        fields = read_fields(call, REMOVE)
        params = {"id": fields["id"], **self._tools.whose(fields["agent"])}
        intent = await self._tools.client.ask(call, "memory.intents.remove", params)
        return self._done(call, fields["agent"], intent, "removed")

    # --- below ---

    def _done(self, call: HttpCall, asked: str, intent: Mapping[str, Any], told: str) -> web.Response:
        if wants_json(call.request):
            return json_response(intent)
        return see_other(memory_place("intents", self._tools.agent(asked), told=told))

    async def _shown(
        self,
        call: HttpCall,
        asked: str,
        draft: Mapping[str, Any],
        told: str | None = None,
        *,
        error: str = "",
        status: int = 200,
    ) -> web.Response:
        choice = self._tools.choice(asked, "intents")
        found = await self._tools.client.ask(call, "memory.intents.list", self._tools.whose(asked))
        data = {
            **choice,
            "intents": [self._intent(each) for each in found["intents"]],
            "draft": dict(draft),
            "limits": {"days": EXPIRES_DAYS_LIMIT, "hours": int(COOLDOWN_HOURS_LIMIT), "text": TEXT_LIMIT},
            "may_write": may_write(call),
            "told": told,
            "error": error,
        }
        return await self._tools.renderer.respond(
            call, RenderedPage("memory_intents", "Standing reminders", data, PATH, status)
        )

    def _intent(self, intent: Mapping[str, Any]) -> dict[str, Any]:
        fired = intent["last_fired_ms"]
        return {
            **intent,
            "source": self._tools.view.source(
                None, intent["person"], intent["session_key"], None, trusted=intent["trusted"]
            ),
            "every": f"{intent['cooldown_s'] / HOUR_S:g}",
            "until": self._tools.moment(intent["expires_ms"]),
            "last": self._tools.moment(fired) if fired else None,
        }


def _number(value: str | float, name: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidRequest(f"{name}: expected a number, got {str(value)[:40]!r}") from None
