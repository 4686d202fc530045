"""Memory search: the results, their scores with reasons, and the engines used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from hub.memory.contract import QUERY_LIMIT
from web.core.render import RenderedPage, wants_json
from web.core.texts import MEMORY_KINDS, MEMORY_TRUST
from web.core.urls import memory_place
from web.memory.files_page import MemoryPageTools, may_write

PATH = "/memory"
LIMITS = ("6", "20", "50")
TRUST = {"yes": True, "no": False}


class MemorySearchPage:
    """The search.

    Args:
        tools: The dependencies shared by all memory pages.
    """

    def __init__(self, tools: MemoryPageTools) -> None:
        self._tools = tools

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /memory/search?q=…[&kind=&person=&trust=&session=&limit=&agent=]`; a blank `q` gives the latest."""
        query = call.request.query
        choice = self._tools.choice(query.get("agent", ""), "search", q=query.get("q"))
        asked = {
            "q": query.get("q", "")[:QUERY_LIMIT].strip(),
            "kind": _among(query, "kind", MEMORY_KINDS),
            "person": query.get("person", "")[:64].strip(),
            "trust": _among(query, "trust", MEMORY_TRUST),
            "session": query.get("session", "")[:512].strip(),
            "limit": query["limit"] if query.get("limit") in LIMITS else "",
        }
        data = {
            **choice,
            "asked": asked,
            "trust": MEMORY_TRUST,
            "limits": LIMITS,
            "conversation": self._tools.names.conversation(asked["session"]),
            "anywhere": memory_place("search", choice["agent"], **{**asked, "session": None}),
            "may_write": may_write(call),
            "answer": None,
            "error": None,
        }
        status = 200
        if "q" in query:
            try:
                data["answer"] = await self._found(call, asked, choice["agent"], query.get("agent", ""))
            except HubError as error:
                if wants_json(call.request):
                    raise
                data["error"], status = error.message, error.http_status
        return await self._tools.renderer.respond(
            call, RenderedPage("memory_search", "Search the memory", data, PATH, status)
        )

    async def _found(
        self, call: HttpCall, asked: Mapping[str, str], agent: str | None, whose: str
    ) -> Mapping[str, Any]:
        params: dict[str, Any] = {"query": asked["q"], **self._tools.whose(whose)}
        params |= {name: asked[name] for name in ("kind", "person", "session") if asked[name]}
        if asked["trust"]:
            params["trusted"] = TRUST[asked["trust"]]
        if asked["limit"]:
            params["limit"] = int(asked["limit"])
        answer = await self._tools.client.ask(call, "memory.search", params)
        return {
            "hits": [self._tools.view.hit(hit, agent, asked["q"]) for hit in answer["hits"]],
            "engines": self._tools.view.engines(answer["engines"]),
            "took_ms": answer["took_ms"],
            "took": f"{answer['took_ms']:.0f}" if answer["took_ms"] >= 10 else f"{answer['took_ms']:.1f}",
            "degraded": answer["degraded"],
        }


def _among(query: Mapping[str, str], name: str, known: Mapping[str, Any]) -> str:
    value = query.get(name, "")
    return value if value in known else ""
