"""The HTML of the Bot API, read as strictly as its server does (https://core.telegram.org/bots/api#html-style)."""

from __future__ import annotations

import re
from typing import Any

KINDS = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
}
MARKS = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'}
ENTITIES_LIMIT = 100

_TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][\w-]*)(?P<rest>[^>]*)>|&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);|<")


class CannotParse(ValueError):
    """The markup is wrong; the text is the server's."""


def units(text: str) -> int:
    """Return the length of a text as Telegram counts it: in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def parse(html: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the text that is shown, and its entities.

    Raises:
        CannotParse: A tag is unknown, not closed, or closed in the wrong order.
    """
    text, at = "", 0
    opened: list[tuple[str, int, str]] = []
    entities: list[dict[str, Any]] = []
    for found in _TOKEN.finditer(html):
        text += html[at : found.start()]
        at = found.end()
        offset = len(html[: found.start()].encode())
        tag = (found["tag"] or "").lower()
        if found[0].startswith("&"):
            number = found[0][2:-1]
            text += MARKS.get(found[0]) or chr(int(number[1:], 16) if number[0] in "xX" else int(number))
        elif not tag or (not found["end"] and tag not in KINDS):
            raise CannotParse(f'Unsupported start tag "{tag}" at byte offset {offset}')
        elif not found["end"]:
            opened.append((tag, units(text), found["rest"]))
        elif not opened:
            raise CannotParse(f"Unexpected end tag at byte offset {offset}")
        elif opened[-1][0] != tag:
            raise CannotParse(
                f'Unmatched end tag at byte offset {offset}, expected "</{opened[-1][0]}>", found "</{tag}>"'
            )
        else:
            _, start, rest = opened.pop()
            entity = {"type": KINDS[tag], "offset": start, "length": units(text) - start}
            if tag == "a" and (link := re.search(r'href="([^"]*)"', rest)):
                entity["url"] = link[1]
            entities.append(entity)
    if opened:
        raise CannotParse(f'Can\'t find end tag corresponding to start tag "{opened[-1][0]}"')
    return text + html[at:], [each for each in entities if each["length"]]
