"""SearXNG, on your own server: https://docs.searxng.org/dev/search_api.html."""

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
    """Return the request for a query; a key is for a server behind a proxy that requires one."""
    parameters = {
        "q": query.text_with_sites,
        "format": "json",
        "language": query.language,
        "time_range": query.freshness,
    }
    return SearchRequest.get(f"{url}/search", parameters, {"Authorization": f"Bearer {key}"} if key else {})


def results(body: bytes) -> list[WebResult]:
    """Read an answer; it has as many results as the server gives."""
    return [
        result_of(each.get("title"), each["url"], each.get("content"), each.get("publishedDate"))
        for each in json_of(body)["results"]
    ]


SEARXNG = SearchProvider(
    "SearXNG",
    "",
    needs_key=False,
    filters=frozenset({"freshness", "language"}),
    request=request,
    results=results,
)
