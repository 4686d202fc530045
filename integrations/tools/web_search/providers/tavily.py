"""Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

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
    data = {
        "query": query.text,
        "max_results": query.count,
        "time_range": query.freshness,
        "include_domains": list(query.domains),
    }
    return SearchRequest.post(f"{url}/search", data, {"Authorization": f"Bearer {key}"})


def results(body: bytes) -> list[WebResult]:
    """Read an answer."""
    return [
        result_of(each.get("title"), each["url"], each.get("content"), each.get("published_date"))
        for each in json_of(body)["results"]
    ]


TAVILY = SearchProvider(
    "Tavily",
    "https://api.tavily.com",
    needs_key=True,
    filters=frozenset({"freshness"}),
    request=request,
    results=results,
)
