"""The service `web.fetch`: a page as text, and whether it changed since the last look."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from hub.automation.services.remembered_pages import TEXT_LIMIT, RememberedPage, RememberedPages
from hub.automation.services.web_text import PageText, diff_lines, read_page
from hub.core.events import Unsubscribe
from hub.core.executors import DOCUMENTS, EGRESS
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, integer, string, url
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.security.egress import METHODS, Egress, Fetched

LENGTH_DEFAULT = 8_000

FETCH_SCHEMA = Schema(
    {
        Required("url", description="The page."): url,
        Optional("method", default="GET", description="The HTTP method."): All(string, str.upper, In(METHODS)),
        Optional("headers", default=dict, description="Headers to send."): {string: string},
        Optional("body", description="The body of a POST, PUT or PATCH request."): string,
        Optional(
            "remember",
            description="A name to remember the page by; with it, `changed` and `diff` compare with the last look.",
        ): All(string, Length(min=1, max=2_000)),
        Optional("length", default=LENGTH_DEFAULT, description="Maximum number of characters returned."): All(
            integer, Range(min=0, max=TEXT_LIMIT)
        ),
    }
)


def register_web(services: ServiceRegistry, egress: Egress, store: RememberedPages) -> Unsubscribe:
    """Register `web.fetch`.

    Its response: `status`, `url` (after redirects), `title`, `text`, `truncated`, `hash` (of the whole text), and with
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
        page = await egress.reader.read("the page", read_page, answer.body, dict(answer.headers), returns=PageText)
        found = _found(answer, page, data["length"])
        if "remember" in data:
            found.update(await _compared(egress, store, data["remember"], page, found))
        return found

    return services.register(
        "web",
        "fetch",
        fetch,
        FETCH_SCHEMA,
        ResponseMode.OPTIONAL,
        AgentRule.ASK,
        description="Fetch a web page as text and tell whether it changed",
        open_world=True,
    )


def _found(answer: Fetched, page: PageText, length: int) -> dict[str, Any]:
    return {
        "status": answer.status,
        "url": answer.url,
        "title": page.title,
        "text": page.text[:length],
        "truncated": len(page.text) > length,
        "hash": hashlib.sha256(page.text.encode() if page.text else answer.body).hexdigest(),
    }


async def _compared(
    egress: Egress, store: RememberedPages, key: str, page: PageText, found: Mapping[str, Any]
) -> dict[str, Any]:
    if not 200 <= found["status"] < 300:
        return {"changed": False, "first": False, "diff": ""}
    before = await EGRESS.run(store.get, key)
    if before is None or before.hash != found["hash"]:
        await DOCUMENTS.run(store.put, key, RememberedPage(found["hash"], page.text))
    if before is None:
        return {"changed": False, "first": True, "diff": ""}
    if before.hash == found["hash"]:
        return {"changed": False, "first": False, "diff": ""}
    texts = before.text, page.text[:TEXT_LIMIT]
    return {
        "changed": True,
        "first": False,
        "diff": await egress.reader.read("the page", diff_lines, *texts, returns=str),
    }
