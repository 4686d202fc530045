"""Parses a feed into its metadata and items.

It is called in a separate process (`hub.security.outside_reader`): a feed can be made to take minutes.
"""

from __future__ import annotations

import hashlib
import io
import re
import time
from typing import Any

BODY_LIMIT_BYTES = 2_000_000
ITEMS_LIMIT = 200
TITLE_CHARS = 500
TEXT_CHARS = 4_000
ID_CHARS = 500
TAGS_LIMIT = 20

_TAG = re.compile(r"<[^<>]{0,2000}>")
_BLANKS = re.compile(r"\s+")


def read_items(body: bytes) -> dict[str, Any]:
    """Return `{is_feed, title, link, items: [{id, title, link, summary, author, published, tags}]}`, in their order.

    Args:
        body: The body as it was fetched.
    """
    import feedparser  # type: ignore[import-untyped]

    # As a stream: bytes might be taken for the name of a file.
    found = feedparser.parse(io.BytesIO(body), sanitize_html=True, resolve_relative_uris=False)
    feed = found.get("feed", {})
    return {
        "is_feed": bool(found.get("version")),
        "title": _text(feed.get("title"), TITLE_CHARS),
        "link": _link(feed.get("link")),
        "items": [_item(each) for each in found.get("entries", [])[:ITEMS_LIMIT]],
    }


def _item(entry: Any) -> dict[str, Any]:
    title, summary = _text(entry.get("title"), TITLE_CHARS), _text(entry.get("summary"), TEXT_CHARS)
    link = _link(entry.get("link"))
    stated = str(entry.get("id") or link or f"{title}\n{summary}")
    return {
        "id": stated if len(stated) <= ID_CHARS else hashlib.sha256(stated.encode()).hexdigest(),
        "title": title,
        "link": link,
        "summary": summary,
        "author": _text(entry.get("author"), TITLE_CHARS),
        "published": _moment(entry.get("published_parsed") or entry.get("updated_parsed")),
        "tags": [_text(tag.get("term"), TITLE_CHARS) for tag in entry.get("tags", [])[:TAGS_LIMIT]],
    }


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        return ""
    import html

    plain = html.unescape(_TAG.sub(" ", value[: limit * 10]))
    return _BLANKS.sub(" ", plain).strip()[:limit]


def _link(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return text if text.startswith(("http://", "https://")) and len(text) <= TEXT_CHARS else ""


def _moment(parsed: Any) -> str | None:
    if not isinstance(parsed, time.struct_time):
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", parsed)
