"""The contract of search providers: how a query becomes a request, and an answer becomes results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from msgspec import Struct

from hub.automation.services.web_text import html_to_text

TITLE_CHARS = 300
SNIPPET_CHARS = 1_000
URL_CHARS = 2_048


class SearchQuery(Struct, frozen=True):
    """A web search.

    Attributes:
        freshness: `day`, `week`, `month`, `year`, or empty; `since` is the day from then on, as `YYYY-MM-DD`.
        country: Two letters, or empty.
        language: Such as `de`, or empty.
        domains: Only results of these.
    """

    text: str
    count: int
    freshness: str = ""
    since: str = ""
    country: str = ""
    language: str = ""
    domains: tuple[str, ...] = ()

    @property
    def text_with_sites(self) -> str:
        """The text, with the domains in the syntax of search engines."""
        sites = " OR ".join(f"site:{each}" for each in self.domains)
        return f"{self.text} ({sites})" if len(self.domains) > 1 else f"{self.text} {sites}".strip()


class SearchRequest(Struct, frozen=True):
    """The HTTP request for a query; a body is sent by POST."""

    url: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    @classmethod
    def get(cls, url: str, parameters: Mapping[str, Any], headers: Mapping[str, str] = {}) -> SearchRequest:
        """Return a GET; parameters that are empty are left out."""
        return cls(f"{url}?{urlencode({name: value for name, value in parameters.items() if value})}", headers)

    @classmethod
    def post(cls, url: str, data: Mapping[str, Any], headers: Mapping[str, str]) -> SearchRequest:
        """Return a POST of JSON; keys that are empty are left out."""
        body = orjson.dumps({name: value for name, value in data.items() if value})
        return cls(url, {**headers, "Content-Type": "application/json"}, body)


class WebResult(Struct, frozen=True):
    """One found page; `published` in the provider's words."""

    title: str
    url: str
    snippet: str = ""
    published: str = ""


class SearchProvider(Struct, frozen=True):
    """A search engine.

    Attributes:
        label: Its name, for people.
        url: Its default address; empty when it must be configured.
        needs_key: Whether it answers only with an API key.
        filters: The filters of a query that it has: freshness, country, language.
        request: Makes the request, given the query, the URL and the key.
        results: Reads an answer with status 200; it is called in the process that reads content from outside.
    """

    label: str
    url: str
    needs_key: bool
    filters: frozenset[str]
    request: Callable[[SearchQuery, str, str], SearchRequest]
    results: Callable[[bytes], list[WebResult]]


def result_of(title: Any, url: Any, snippet: Any, published: Any = None) -> WebResult:
    """Return a result within the bounds, without markup.

    Raises:
        TypeError: It is not one.
    """
    if not isinstance(url, str):
        raise TypeError("a result has no URL")
    words = [" ".join(html_to_text(str(each or "")).split()) for each in (title, snippet)]
    return WebResult(words[0][:TITLE_CHARS], url, words[1][:SNIPPET_CHARS], str(published or "")[:40])


def json_of(body: bytes) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ValueError, TypeError: It is not one.
    """
    found = orjson.loads(body)
    if not isinstance(found, dict):
        raise TypeError("expected an object")
    return found
