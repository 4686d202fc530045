"""The history of memory: changes with their authors, and undoing them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError, NotFound
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields
from web.core.render import RenderedPage, json_response, see_other, wants_json
from web.core.texts import MEMORY_REASONS
from web.core.urls import memory_place
from web.memory.files_page import MemoryPageTools, flash_message, may_write
from web.settings.diff import file_diffs

PATH = "/memory/history"
SHOWN_LIMIT = 200
"""As many as are kept."""
OPENINGS = {"add": "remembered in ", "edit": "Edited ", "forget": "forgot something in ", "undo": "took back: "}
"""What the hub begins its own summary with; the page says that already, in the language of its reader."""
_PLACE = re.compile(r"\A(?:MEMORY|memory/[^:\s]+)\.md: ")
"""The file before what was remembered; the page of the change names it."""
ICONS = {"add": "notebook-pen", "edit": "pencil", "tidy": "list-checks", "import": "download", "undo": "undo-2"}

UNDO = Schema({Required("id"): All(string, Length(min=1, max=128)), Optional("agent", default=""): string})


class MemoryHistoryPage:
    """The changes.

    Args:
        tools: The dependencies shared by all memory pages.
    """

    def __init__(self, tools: MemoryPageTools) -> None:
        self._tools = tools

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/history[?change=ID][&agent=ID]`: the changes, and one of them with its diff."""
        query = call.request.query
        return await self._shown(call, query.get("agent", ""), query.get("change"), flash_message(query)["told"])

    async def undo(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/undo`: take a change back; that is a change, too."""
        fields = read_fields(call, UNDO)
        params = {"id": fields["id"], **self._tools.whose(fields["agent"])}
        try:
            change = await self._tools.client.ask(call, "memory.undo", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._shown(call, fields["agent"], fields["id"], error=error.message, status=error.http_status)
        self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(change)
        agent = self._tools.agent(fields["agent"])
        return see_other(memory_place("history", agent, change=change["id"], told="undone"))

    # --- below ---

    async def _shown(
        self,
        call: HttpCall,
        asked: str,
        wanted: str | None,
        told: str | None = None,
        *,
        error: str = "",
        status: int = 200,
    ) -> web.Response:
        choice = self._tools.choice(asked, "history")
        params = {"limit": SHOWN_LIMIT, **self._tools.whose(asked)}
        found = await self._tools.client.ask(call, "memory.changes", params)
        changes = [self._change(each, choice["agent"]) for each in found["changes"]]
        chosen = next((each for each in found["changes"] if each["id"] == wanted), None)
        if wanted and chosen is None and not error:
            raise NotFound(f"there is no change {wanted[:80]!r} among the last {SHOWN_LIMIT}")
        data = {
            **choice,
            "changes": changes,
            "change": None
            if chosen is None
            else {
                **self._change(chosen, choice["agent"]),
                "files": [each.as_dict() for each in file_diffs(chosen["diff"])],
                "cut": bool(chosen.get("diff_cut")),
            },
            "may_write": may_write(call),
            "told": told,
            "error": error,
        }
        return await self._tools.renderer.respond(call, RenderedPage("memory_history", "Changes", data, PATH, status))

    def _change(self, change: Mapping[str, Any], agent: str | None) -> dict[str, Any]:
        kept = {name: change[name] for name in ("id", "time_ms", "reason", "undone", "can_undo")}
        return {
            **kept,
            "summary": _PLACE.sub("", change["summary"].removeprefix(OPENINGS.get(change["reason"], ""))),
            "reason_text": MEMORY_REASONS.get(change["reason"], change["reason"]),
            "icon": ICONS.get(change["reason"], "brain"),
            "who": self._tools.names.person(change["who"]) or change["who"],
            "path": memory_place("history", agent, change=change["id"]),
            **self._tools.moment(change["time_ms"]),
        }
