"""The service `web.fetch`: a page as text, and whether it changed since the last look."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from typing import Any

from hub.automation.services.remembered_pages import TEXT_LIMIT, RememberedPage, RememberedPages
from hub.automation.services.web_text import PageText, read_page
from hub.core.events import Unsubscribe
from hub.core.executors import EGRESS
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, integer, string, url
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.security.egress import METHODS, Egress, Fetched

DIFF_LIMIT = 8_000
DIFF_LINES_LIMIT = 1_000
LENGTH_DEFAULT = 8_000

FETCH_SCHEMA = Schema(
    {
        Required("url", description="The page."): url,
        Optional("method", default="GET", description="The HTTP method."): All(string, str.upper, In(METHODS)),
        Optional("headers", default=dict, description="Headers to send."): {string: string},
        Optional("body", description="What is sent with POST, PUT or PATCH."): string,
        Optional(
            "remember",
            description="A name to remember the page by; with it, `changed` and `diff` compare with the last look.",
        ): All(string, Length(min=1, max=2_000)),
        Optional("length", default=LENGTH_DEFAULT, description="Characters of text that are returned."): All(
            integer, Range(min=0, max=TEXT_LIMIT)
        ),
    }
)


def register_web(services: ServiceRegistry, egress: Egress, store: RememberedPages) -> Unsubscribe:
    """Register `web.fetch`.

    Its response: `status`, `url` (behind redirects), `title`, `text`, `truncated`, `hash` (of the whole text), and with
    `remember`: `changed` (False the first time, `first` is then True) and `diff` (lines with + and -). What answers
    with an error status is neither compared nor remembered.

    Returns:
        A function that removes it.
    """

    async def fetch(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        answer = await egress.fetch(
            data["url"],
            method=data["method"],
            headers=data["headers"],
            body=data["body"].encode() if "body" in data else None,
        )
        return await EGRESS.run(_look, answer, data.get("remember"), data["length"], store)

    return services.register(
        "web",
        "fetch",
        fetch,
        FETCH_SCHEMA,
        ResponseMode.OPTIONAL,
        AgentRule.ASK,
        description="Fetch a page of the web as text, and tell whether it changed",
        open_world=True,
    )


def _look(answer: Fetched, key: str | None, length: int, store: RememberedPages) -> dict[str, Any]:
    page = read_page(answer.body, answer.headers)
    hash = hashlib.sha256(page.text.encode() if page.text else answer.body).hexdigest()
    found: dict[str, Any] = {
        "status": answer.status,
        "url": answer.url,
        "title": page.title,
        "text": page.text[:length],
        "truncated": len(page.text) > length,
        "hash": hash,
    }
    if key is not None:
        found.update(_compared(page, hash, key, store, is_fine=200 <= answer.status < 300))
    return found


def _compared(page: PageText, hash: str, key: str, store: RememberedPages, *, is_fine: bool) -> dict[str, Any]:
    if not is_fine:
        return {"changed": False, "first": False, "diff": ""}
    before = store.get(key)
    if before is None or before.hash != hash:
        store.put(key, RememberedPage(hash, page.text))
    if before is None:
        return {"changed": False, "first": True, "diff": ""}
    changed = before.hash != hash
    return {"changed": changed, "first": False, "diff": _diff(before.text, page.text[:TEXT_LIMIT]) if changed else ""}


def _diff(before: str, after: str) -> str:
    """Return what changed, as lines that begin with + or -, with the line around each for orientation."""
    old, new = before.split("\n")[:DIFF_LINES_LIMIT], after.split("\n")[:DIFF_LINES_LIMIT]
    lines = list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))[:DIFF_LIMIT]
