"""Brave Search: https://api-dashboard.search.brave.com/app/documentation/web-search/get-started."""

from __future__ import annotations

from integrations.tools.web_search.contract import (
    SearchProvider,
    SearchQuery,
    SearchRequest,
    WebResult,
    json_of,
    result_of,
)


def request(query: SearchQuery, url: str, key: str) -> SearchRequest:
    """Return the request for a query."""
    parameters = {
        "q": query.text_with_sites,
        "count": query.count,
        "country": query.country.upper(),
        "search_lang": query.language,
        "freshness": f"p{query.freshness[0]}" if query.freshness else "",
    }
    return SearchRequest.get(
        f"{url}/res/v1/web/search", parameters, {"X-Subscription-Token": key, "Accept": "application/json"}
    )


def results(body: bytes) -> list[WebResult]:
    """Read an answer; without results it has no `web`."""
    found = (json_of(body).get("web") or {}).get("results") or []
    return [
        result_of(each.get("title"), each["url"], each.get("description"), each.get("page_age") or each.get("age"))
        for each in found
    ]


BRAVE = SearchProvider(
    "Brave",
    "https://api.search.brave.com",
    needs_key=True,
    filters=frozenset({"freshness", "country", "language"}),
    request=request,
    results=results,
)
