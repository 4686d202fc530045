"""DuckDuckGo, by its page without scripts: it needs no key, and gives few results when it is asked often."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

from hub.core.errors import Unavailable
from integrations.tools.web_search.contract import SearchProvider, SearchQuery, SearchRequest, WebResult, result_of

USER_AGENT = "Mozilla/5.0 (compatible; Homarus)"
_TITLE, _SNIPPET = "result__a", "result__snippet"
_CHALLENGE = b"anomaly-modal"
_EMPTY = frozenset({"br", "img", "input", "link", "meta", "hr"})


def request(query: SearchQuery, url: str, key: str) -> SearchRequest:
    """Return the request for a query."""
    parameters = {"q": query.text_with_sites, "df": query.freshness[:1]}
    return SearchRequest.get(f"{url}/html/", parameters, {"User-Agent": USER_AGENT})


def results(body: bytes) -> list[WebResult]:
    """Read a page of results.

    Raises:
        Unavailable: It asks whether a person searches.
    """
    if _CHALLENGE in body:
        raise Unavailable("DuckDuckGo asks for a human check; wait, or configure another provider for web_search")
    page = _ResultPage()
    page.feed(body.decode(errors="replace"))
    return [result_of(title, _target(link), snippet) for title, link, snippet in page.found if _target(link)]


def _target(link: str) -> str:
    """Return the target of a link of the page: it goes through `/l/?uddg=URL`; an advertisement has no such URL."""
    parts = urlsplit(link)
    if parts.path == "/l/":
        return parse_qs(parts.query).get("uddg", [""])[0]
    return "" if parts.path == "/y.js" else link


class _ResultPage(HTMLParser):
    """Collects title, link and snippet of each result."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self._into: int | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if self._into is not None:
            self._depth += tag not in _EMPTY
            return
        known = dict(attributes)
        classes = (known.get("class") or "").split()
        if _TITLE in classes:
            self.found.append(["", known.get("href") or "", ""])
            self._into = 0
        elif _SNIPPET in classes and self.found:
            self._into = 2

    def handle_endtag(self, tag: str) -> None:
        if self._into is not None and tag not in _EMPTY:
            self._depth -= 1
            if self._depth < 0:
                self._into, self._depth = None, 0

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self.found[-1][self._into] += data


DUCKDUCKGO = SearchProvider(
    "DuckDuckGo",
    "https://html.duckduckgo.com",
    needs_key=False,
    filters=frozenset({"freshness"}),
    request=request,
    results=results,
)
