"""Facts: what is remembered, a row each, by person and kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from hub.memory.contract import CHANGES_LIMIT
from hub.memory.places import SHARED_AREA
from web.core.render import RenderedPage, see_other
from web.core.texts import MEMORY_KINDS, MEMORY_REASONS
from web.core.urls import memory_place
from web.memory.fact_history import FactHistory
from web.memory.facts import Fact, FactShelf
from web.memory.files_page import (
    NOTHING_TO_REMEMBER,
    MemoryPageTools,
    flash_message,
    may_write,
    number_of,
    open_questions,
)
from web.memory.shelf import facts_of

PATH = "/memory"
PAGE_SIZE = 50


class MemoryFactsPage:
    """The facts.

    Args:
        tools: The shared dependencies of the pages about memory.
        shelf: Has the facts.
    """

    def __init__(self, tools: MemoryPageTools, shelf: FactShelf) -> None:
        self._tools = tools
        self._shelf = shelf

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory[?q=…&kind=…&person=…&state=past&page=N&correct=PATH&line=N&agent=ID]`: the facts.

        Words lead to the search.
        """
        query = call.request.query
        if query.get("q", "").strip():
            asked = {name: query.get(name) for name in ("q", "kind", "person")}
            return see_other(memory_place("search", query.get("agent"), **asked))
        return await self.shown(call, query.get("agent", ""), query)

    async def shown(
        self,
        call: HttpCall,
        asked: str,
        query: Mapping[str, str],
        draft: Mapping[str, str] = NOTHING_TO_REMEMBER,
        failed: HubError | None = None,
    ) -> web.Response:
        """Return the page, with the rejected text and the reason."""
        choice = self._tools.choice(asked)
        listed = await self._tools.client.ask(call, "memory.list", self._tools.whose(asked))
        every = await facts_of(self._tools, self._shelf, call, asked, listed["files"])
        wanted = {name: query.get(name, "") for name in ("kind", "person", "state")}
        found = [fact for fact in every if _fits(fact, wanted)]
        pages = max(1, -(-len(found) // PAGE_SIZE))
        number = min(number_of(query, "page") or 1, pages)
        rows = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        await self._tools.view.prepare(fact.text for fact in rows)

        history = await self._history(call, asked, rows)

        def place(number: int) -> str:
            return memory_place("", choice["agent"], **wanted, page=number if number > 1 else None)

        old = _named(every, query)
        if old is not None and failed is None:
            draft = {"text": old.text, "kind": old.kind or "fact", "replaces": old.text}
            draft["shared"] = "true" if old.area == SHARED_AREA else ""
        data = {
            **choice,
            **flash_message(query),
            "facts": [self._row(fact, choice["agent"], history) for fact in rows],
            "count": len(found),
            "any": bool(every),
            "wanted": wanted,
            "number": number,
            "pages": pages,
            "earlier": place(number - 1) if number > 1 else None,
            "later": place(number + 1) if number < pages else None,
            "unsettled": await open_questions(self._tools, call, listed["files"], asked),
            "correcting": old is not None or bool(draft["replaces"]),
            "draft": dict(draft),
            "error": failed.message if failed else "",
            "may_write": may_write(call),
        }
        return await self._tools.renderer.respond(
            call, RenderedPage("memory", "Memory", data, PATH, failed.http_status if failed else 200)
        )

    async def _history(self, call: HttpCall, asked: str, facts: Sequence[Fact]) -> FactHistory:
        if not facts:
            return FactHistory(())
        params = {"limit": CHANGES_LIMIT, **self._tools.whose(asked)}
        return FactHistory((await self._tools.client.ask(call, "memory.changes", params))["changes"])

    def _row(self, fact: Fact, agent: str | None, history: FactHistory) -> dict[str, Any]:
        day = fact.when[:10] or None
        place = memory_place("file", agent, path=fact.path, line=fact.line)
        return {
            "text": fact.text,
            "html": self._tools.view.rendered(fact.text),
            "kind": fact.kind,
            "path": fact.path,
            "line": fact.line,
            "place": f"{place}#hit",
            "struck": fact.struck,
            "superseded": fact.superseded,
            "history": [
                {
                    "id": change["id"],
                    "reason": MEMORY_REASONS.get(change["reason"], change["reason"]),
                    "who": self._tools.names.person(change["who"]) or change["who"],
                    "before": before,
                    "path": memory_place("history", agent, change=change["id"]),
                    "can_undo": change["can_undo"] and not change["undone"],
                    "undone": change["undone"],
                    **self._tools.moment(change["time_ms"]),
                }
                for change, before in history.of(fact.text)
            ],
            "correct": memory_place("", agent, correct=fact.path, line=fact.line),
            "source": self._tools.view.source(fact.kind, fact.person, fact.session, day, trusted=fact.trusted),
        }


def _named(facts: Sequence[Fact], query: Mapping[str, str]) -> Fact | None:
    """Return the fact to correct."""
    at = (query.get("correct", ""), query.get("line", ""))
    return next((fact for fact in facts if (fact.path, str(fact.line)) == at), None)


def _fits(fact: Fact, wanted: Mapping[str, str]) -> bool:
    if fact.struck != (wanted["state"] == "past"):
        return False
    if wanted["kind"] in MEMORY_KINDS and fact.kind != wanted["kind"]:
        return False
    return not wanted["person"] or fact.person == wanted["person"]
