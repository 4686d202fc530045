"""Lists that are kept in memory, an entry of kind `todo` for each item: `Shopping list: bread`. Pure functions."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"(?P<list>[^:：]{1,30}?)(?: list: |清单：)(?P<item>.+)", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def item_of(text: str) -> tuple[str, str] | None:
    """Return the list, in lower case, and the item of an entry; None for any other entry."""
    match = _ENTRY.fullmatch(text)
    return None if match is None else (match["list"].lower(), match["item"].rstrip(" .。") or match["item"])


def item_text(which: str, item: str) -> str:
    """Return the entry for an item of a list."""
    return f"{which}清单：{item}" if _CHINESE.search(which) else f"{which[:1].upper()}{which[1:]} list: {item}"
