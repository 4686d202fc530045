"""Kagi: https://help.kagi.com/kagi/api/search.html."""

from __future__ import annotations

from integrations.tools.web_search.contract import (
    SearchProvider,
    SearchQuery,
    SearchRequest,
    WebResult,
    json_of,
    result_of,
)

RESULT = 0
"""The type of a result; others are related searches."""


def request(query: SearchQuery, url: str, key: str) -> SearchRequest:
    """Return the request for a query."""
    parameters = {"q": query.text_with_sites, "limit": query.count}
    return SearchRequest.get(f"{url}/api/v0/search", parameters, {"Authorization": f"Bot {key}"})


def results(body: bytes) -> list[WebResult]:
    """Read an answer."""
    return [
        result_of(each.get("title"), each["url"], each.get("snippet"), each.get("published"))
        for each in json_of(body)["data"]
        if each["t"] == RESULT
    ]


KAGI = SearchProvider("Kagi", "https://kagi.com", needs_key=True, filters=frozenset(), request=request, results=results)
