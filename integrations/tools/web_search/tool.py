"""The tool `web_search`, as agents see it, and the service of automations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import to_builtins

from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Match, Optional, Range, Required, Schema, integer, string
from hub.core.services import ServiceCall
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.web_search.contract import SearchQuery
from integrations.tools.web_search.schema import COUNT_LIMIT
from integrations.tools.web_search.searching import Searching

NAME = "web_search"
GROUP = "web"
QUERY_CHARS = 400
DOMAINS_LIMIT = 10
DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
CALL_S = 90.0
SEARCHES_WEB = Annotations(read_only=True, destructive=False, idempotent=True, owner_only=False, egress=True)

_DOMAIN = All(string, Length(max=253), Match(r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\Z", msg="expected such as example.org"))
_FILTERS = {
    "freshness": (Optional("freshness", description="Only what is not older."), In(tuple(DAYS))),
    "country": (Optional("country", description="Two letters."), All(string, Match(r"^[A-Za-z]{2}\Z"))),
    "language": (Optional("language", description="Such as en."), All(string, Match(r"^[a-z]{2}(-[A-Za-z]{2,4})?\Z"))),
}


class WebSearch:
    """Searches the web.

    Args:
        searching: Asks the provider.
        count: Results when a call names no number.
        now: The time.
    """

    def __init__(self, searching: Searching, count: int, now: Callable[[], datetime]) -> None:
        self._searching = searching
        self._now = now
        filters = [_FILTERS[each] for each in _FILTERS if each in searching.provider.filters]
        self.schema = Schema(
            {
                Required("query"): All(string, str.strip, Length(min=1, max=QUERY_CHARS)),
                Optional("count", default=count): All(integer, Range(min=1, max=COUNT_LIMIT)),
                **dict(filters),
                Optional("domains", description="Only results of these."): All([_DOMAIN], Length(max=DOMAINS_LIMIT)),
            }
        )
        """What a search takes: the filters that the provider has."""

    def tool(self) -> Tool:
        """Return the tool."""
        return Tool(
            NAME,
            "Search the web: titles, addresses and snippets. Read a page with web_fetch.",
            from_schema(self.schema),
            self._run,
            GROUP,
            SEARCHES_WEB,
            approval=why_ask,
            timeout_s=CALL_S,
        )

    async def serve(self, call: ServiceCall) -> Mapping[str, Any]:
        """Answer the service: `results`, each with title, url, snippet and published."""
        return {"results": to_builtins(await self._searching.search(self._query(call.data)))}

    async def _run(self, call: ToolCall) -> ToolResult:
        found = await self._searching.search(self._query(call.arguments))
        lines = [
            f"{number}. {each.title}\n{each.url}\n{f'({each.published}) ' if each.published else ''}{each.snippet}"
            for number, each in enumerate(found, start=1)
        ]
        details = {"provider": self._searching.provider.label, "results": to_builtins(found)}
        return ToolResult("\n\n".join(lines) or "Nothing was found.", details=details, trusted=False)

    def _query(self, data: Mapping[str, Any]) -> SearchQuery:
        freshness = data.get("freshness", "")
        since = f"{self._now() - timedelta(days=DAYS[freshness]):%Y-%m-%d}" if freshness else ""
        country, language = data.get("country", ""), data.get("language", "")
        text = data["query"].encode("utf-8", "replace").decode()  # half a character cannot be sent
        return SearchQuery(text, data["count"], freshness, since, country, language, tuple(data.get("domains", ())))


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a search: in a tainted conversation its words may leak data."""
    if not authority.tainted:
        return None
    return phrase(
        "text that others wrote is in this conversation, and it searches the web for {query}",
        query=repr(arguments.get("query")),
    )
