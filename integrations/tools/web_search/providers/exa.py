"""Exa: https://docs.exa.ai/reference/search."""

from __future__ import annotations

from integrations.tools.web_search.contract import (
    SNIPPET_CHARS,
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
        "numResults": query.count,
        "includeDomains": list(query.domains),
        "startPublishedDate": f"{query.since}T00:00:00.000Z" if query.since else "",
        "userLocation": query.country.upper(),
        "contents": {"text": {"maxCharacters": SNIPPET_CHARS}},
    }
    return SearchRequest.post(f"{url}/search", data, {"x-api-key": key})


def results(body: bytes) -> list[WebResult]:
    """Read an answer."""
    return [
        result_of(each.get("title"), each["url"], each.get("text"), each.get("publishedDate"))
        for each in json_of(body)["results"]
    ]


EXA = SearchProvider(
    "Exa",
    "https://api.exa.ai",
    needs_key=True,
    filters=frozenset({"freshness", "country"}),
    request=request,
    results=results,
)
