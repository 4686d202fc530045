"""Lists that are kept in memory, an entry of kind `todo` for each item. Pure functions.

`Shopping list: bread`, and where more is known of an item: `Errands list: post the letter (due 2026-12-05)`, with what
there is to say of it on further lines.
"""

from __future__ import annotations

import re
from datetime import date, datetime

from msgspec import Struct

_ENTRY = re.compile(
    r"(?P<list>[^:：\n]{1,60}?)(?: list: |清单：)(?P<item>[^\n]+)(?:\n(?P<more>.+))?", re.IGNORECASE | re.DOTALL
)
_DUE = re.compile(r"(?P<item>.+?)(?: \(due (?P<due>[^)]+)\)|（(?P<zh>[^）]+)前）)")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


class ListItem(Struct, frozen=True):
    """An item, with the list it is on in lower case, if any; when it is due as a day or a moment in ISO 8601."""

    list: str
    summary: str
    due: str | None = None
    description: str | None = None


def item_of(text: str) -> tuple[str, str] | None:
    """Return the list, in lower case, and the item of an entry in one line; None for any other entry."""
    match = _ENTRY.fullmatch(text)
    return None if match is None else (match["list"].lower(), match["item"].rstrip(" .。") or match["item"])


def list_item(text: str) -> ListItem:
    """Return what an entry says of an item; one that names no list is merely to do, on the list without a name."""
    match = _ENTRY.fullmatch(text)
    which, item = item_of(text) or ("", text.partition("\n")[0])
    more = (match["more"] if match is not None else text.partition("\n")[2]) or None
    due = _DUE.fullmatch(item)
    if due is not None and _is_time(when := due["due"] or due["zh"]):
        return ListItem(which, due["item"], when, more)
    return ListItem(which, item, description=more)


def item_text(which: str, item: str) -> str:
    """Return the entry for an item of a list."""
    return f"{which}清单：{item}" if _CHINESE.search(which) else f"{list_title(which)} list: {item}"


def entry_text(item: ListItem) -> str:
    """Return the entry for an item of a list, with what else is known of it."""
    is_chinese = _CHINESE.search(item.list)
    due = "" if item.due is None else f"（{item.due}前）" if is_chinese else f" (due {item.due})"
    more = f"\n{item.description}" if item.description else ""
    summary = " ".join(item.summary.split())
    return f"{item_text(item.list, summary) if item.list else summary}{due}{more}"


def list_title(which: str) -> str:
    """Return the name of a list for people."""
    return f"{which[:1].upper()}{which[1:]}"


def _is_time(text: str) -> bool:
    try:
        date.fromisoformat(text) if "T" not in text else datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
