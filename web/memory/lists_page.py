"""Lists: things to do and to buy that the assistant keeps, to be added to and ticked off."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.schema import All, Length, Match, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.memory.contract import MemoryKind
from hub.memory.lists import item_of, item_text
from hub.memory.markdown import struck, whole_items
from hub.memory.places import SHARED_AREA
from web.core.form import read_fields
from web.core.render import RenderedPage, json_response, see_other, wants_json
from web.core.urls import memory_place
from web.memory.facts import Fact, FactShelf
from web.memory.files_page import MemoryPageTools, flash_message, may_write
from web.memory.shelf import facts_of

PATH = "/memory/lists"
DONE_DAYS = 14
"""So long what was ticked off is shown."""
ITEM_LIMIT, LIST_LIMIT = 500, 30

_AGENT = All(string, Length(max=64))
ADD = Schema(
    {
        Optional("list", default=""): All(string, Length(max=LIST_LIMIT)),
        Required("item"): All(string, Length(max=ITEM_LIMIT)),
        Optional("shared", default=""): string,
        Optional("agent", default=""): _AGENT,
    }
)
TICK = Schema(
    {
        Required("path"): All(string, Length(min=1, max=512)),
        Required("line"): All(string, Match(r"^\d{1,9}$", msg="expected a number")),
        Required("text"): All(string, Length(min=1, max=8_000)),
        Optional("agent", default=""): _AGENT,
    }
)

NOTHING_TYPED: Mapping[str, str] = {"list": "", "item": "", "shared": ""}


class MemoryListsPage:
    """The lists.

    Args:
        tools: The dependencies shared by all memory pages.
        shelf: Has the facts.
    """

    def __init__(self, tools: MemoryPageTools, shelf: FactShelf) -> None:
        self._tools = tools
        self._shelf = shelf

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/lists[?agent=ID]`: the lists."""
        return await self._shown(call, call.request.query.get("agent", ""), flash_message(call.request.query)["told"])

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/lists/add`: put an item on a list, which is made with its first; without one it is to do."""
        fields = read_fields(call, ADD)
        item, which = (" ".join(fields[name].split()).rstrip(" .。") for name in ("item", "list"))
        try:
            if not item:
                raise InvalidRequest("item: say what is to be put on the list")
            if which and item_of(item_text(which, item)) != (which.lower(), item):
                raise InvalidRequest(f"list: {which!r} cannot name a list, which has letters, digits and spaces only")
            text = item_text(which, item) if which else item
            params = {"text": text, "kind": MemoryKind.TODO.value, "shared": fields["shared"] in ("true", "on")}
            added = await self._tools.client.ask(call, "memory.add", {**params, **self._tools.whose(fields["agent"])})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._shown(call, fields["agent"], None, error=error, typed=fields)
        return self._done(call, fields["agent"], added, "known" if added["known"] else "added")

    async def tick(self, call: HttpCall) -> web.StreamResponse:
        """`POST /memory/lists/tick`: strike an item: it is kept as done, and the assistant does not see it any more."""
        fields = read_fields(call, TICK)
        try:
            change = await self._strike(call, fields)
        except Conflict:  # somebody wrote into the file meanwhile
            change = await self._strike(call, fields)
        return self._done(call, fields["agent"], change, "ticked")

    # --- below ---

    async def _strike(self, call: HttpCall, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        path, whose = fields["path"], self._tools.whose(fields["agent"])
        read = await self._tools.client.ask(call, "memory.read", {"path": path, **whose})
        if read["redacted"]:
            raise InvalidRequest(f"{path} holds a secret, so it cannot be written here: strike the item in the file")
        open_ones = [each for each in whole_items(read["text"]) if not each.struck and each.text == fields["text"]]
        # Its line may be another by now; of two that say the same, the nearest.
        found = min(open_ones, key=lambda each: abs(each.start_line - int(fields["line"])), default=None)
        if found is None:
            raise NotFound(f"{fields['text'][:80]!r} is not in {path} any more; look at the list again")
        text = struck(read["text"], [found], self._tools.renderer.today())
        edit = {"path": path, "text": text, "base_hash": read["hash"]}
        change: Mapping[str, Any] = await self._tools.client.ask(
            call, "memory.write", {"edits": [edit], "summary": found.text[:200], **whose}
        )
        return change

    def _done(self, call: HttpCall, asked: str, answer: Mapping[str, Any], told: str) -> web.StreamResponse:
        self._tools.pulse.beat()
        if wants_json(call.request):
            return json_response(answer)
        return see_other(memory_place("lists", self._tools.agent(asked), told=told))

    async def _shown(
        self,
        call: HttpCall,
        asked: str,
        told: str | None,
        *,
        error: HubError | None = None,
        typed: Mapping[str, str] | None = None,
    ) -> web.StreamResponse:
        choice = self._tools.choice(asked, "lists")
        every = await facts_of(self._tools, self._shelf, call, asked)
        since = (self._tools.renderer.today() - dt.timedelta(days=DONE_DAYS)).isoformat()
        rows = (self._row(each) for each in every if each.kind == MemoryKind.TODO.value)
        data = {
            **choice,
            "columns": _columns(_lists(rows, since)),
            "typed": dict(typed or NOTHING_TYPED),
            "told": told,
            "error": error.message if error else "",
            "may_write": may_write(call),
        }
        status = error.http_status if error else 200
        return await self._tools.renderer.respond(call, RenderedPage("memory_lists", "Lists", data, PATH, status))

    def _row(self, fact: Fact) -> dict[str, Any]:
        which, item = item_of(fact.text) or ("", fact.text)
        return {
            "list": which,
            "item": item,
            "text": fact.text,
            "path": fact.path,
            "line": fact.line,
            "person": self._tools.names.person(fact.person),
            "when": fact.when,
            "day": fact.when[:10],
            "shared": fact.area == SHARED_AREA,
            "since": (fact.superseded or "") if fact.struck else None,
        }


def _columns(lists: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the lists in two columns of about the same height, in their order; the second has room for one more."""
    columns: list[list[dict[str, Any]]] = [[], []]
    heights = [0, 0]
    for each in lists:
        at = 0 if heights[0] <= heights[1] else 1
        columns[at].append(each)
        heights[at] += 2 + len(each["open"])
    return columns if heights[0] >= heights[1] else columns[::-1]


def _lists(rows: Iterable[Mapping[str, Any]], since: str) -> Iterable[dict[str, Any]]:
    """Yield the lists by name, what is merely to do first; each with what is open, oldest first, and lately done."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for each in rows:
        by_name.setdefault(each["list"], []).append(each)
    for name, found in sorted(by_name.items()):
        left = sorted((each for each in found if each["since"] is None), key=lambda each: (each["when"], each["line"]))
        texts = {each["text"] for each in left}
        done = {each["text"]: each for each in found if (each["since"] or "") >= since and each["text"] not in texts}
        if left or done:
            yield {
                "name": name,
                "title": name[:1].upper() + name[1:],
                "open": left,
                "done": [*done.values()],
                "shared": sum(each["shared"] for each in left) * 2 > len(left),
            }
