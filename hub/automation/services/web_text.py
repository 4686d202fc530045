"""Web pages as text for people and models: no markup, no scripts, one line per paragraph."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Mapping

from msgspec import Struct

from hub.security.charset import decode

TITLE_LIMIT = 300
DIFF_LIMIT = 8_000
DIFF_LINES_LIMIT = 1_000
HTML = frozenset({"text/html", "application/xhtml+xml"})

_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "caption", "dd", "details", "div", "dl", "dt", "fieldset"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend", "li"),
        *("main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"),
    }
)
_CELLS = frozenset({"td", "th"})
_UNREAD = frozenset(
    {"title", "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "textarea"}
)
_MARKUP = re.compile(r"(?P<comment><!--)|<(?P<slash>/?)(?P<name>[a-zA-Z][a-zA-Z0-9-]{0,40})|<[!?]")
_IN_TAG = re.compile(r">|=\s*(?P<quote>[\"'])")
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})", re.IGNORECASE)
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}charset=[\"']?([a-zA-Z0-9_-]{1,40})", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n{3,}")
_BREAK = "\n"
_SNIFFED_BYTES = 4_096
_TITLE_WITHIN = 100_000


class PageText(Struct, frozen=True):
    """The readable part of an answer."""

    text: str
    title: str = ""


def read_page(body: bytes, headers: Mapping[str, str]) -> PageText:
    """Return the readable text of a page; empty for anything that is not text.

    A page can be made to take long: it is called in a process of its own (`hub.security.outside_reader`).

    Args:
        headers: The headers, with lower-case names.
    """
    kind, text = decode_text(body, headers)
    if kind in HTML:
        return PageText(html_to_text(text), _title(text))
    return PageText(_tidy(text))


def decode_text(body: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the media type of an answer, and its source as text; empty for anything that is not text.

    Args:
        headers: The headers, with lower-case names.
    """
    kind, _, parameters = headers.get("content-type", "text/html").lower().partition(";")
    kind = kind.strip()
    _, _, rest = parameters.partition("charset=")
    charset = rest.split(";")[0].strip(" \"'")
    if kind in HTML:
        return kind, decode(body, charset or _sniffed_charset(body))
    is_text = kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "javascript"))
    return kind, decode(body, charset) if is_text else ""


def html_to_text(source: str) -> str:
    """Return the words of an HTML document, one line per block, items of lists with a dash.

    It goes through the text once, whatever the text is: a tree of it could be made to take hours.
    """
    parts: list[str] = []
    position = 0
    while (match := _MARKUP.search(source, position)) is not None:
        _add(parts, source[position : match.start()].replace("\n", " "))
        name = match["name"].lower() if match["name"] else ""
        position = _end_of_markup(source, match)
        if name in _UNREAD and not match["slash"]:
            close = re.compile(f"</{name}", re.IGNORECASE).search(source, position)
            position = close.start() if close else len(source)
        elif name in _BLOCKS or name in _CELLS:
            for part in _marks(name, closing=bool(match["slash"])):
                _add(parts, part)
    _add(parts, source[position:].replace("\n", " "))
    return _tidy(html.unescape("".join(parts)))


def diff_lines(before: str, after: str) -> str:
    """Return the changed lines, marked + or -, each with a line of context."""
    old, new = before.split("\n")[:DIFF_LINES_LIMIT], after.split("\n")[:DIFF_LINES_LIMIT]
    lines = list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))[:DIFF_LIMIT]


def _end_of_markup(source: str, match: re.Match[str]) -> int:
    """Return the index after a comment, a declaration or a tag; an unclosed one extends to the end."""
    if match["comment"]:
        end = source.find("-->", match.end())
        return len(source) if end < 0 else end + 3
    position = match.end()
    while (found := _IN_TAG.search(source, position)) is not None:
        if found[0] == ">":
            return found.end()
        position = _found_or_end(source, found["quote"], found.end()) + 1
    return len(source)


def _found_or_end(source: str, what: str, start: int) -> int:
    found = source.find(what, start)
    return len(source) if found < 0 else found


def _add(parts: list[str], part: str) -> None:
    """Add a part; blanks between blocks are nothing, and two blocks in a row break the line once."""
    begun = not parts or parts[-1].endswith("\n")
    if begun and (part == _BREAK or not part.strip(" \t")):
        return
    parts.append(part)


def _marks(tag: str, *, closing: bool) -> tuple[str, ...]:
    if tag == "li" and not closing:
        return (_BREAK, "- ")
    if tag in _CELLS:
        return () if closing else (" | ",)
    if tag == "p" or (tag[0] == "h" and tag[1:].isdigit()):
        return ("\n\n",)
    return (_BREAK,)


def _tidy(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip(" |") for line in text.replace("\r\n", "\n").split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def _title(source: str) -> str:
    match = _TITLE.search(source[:_TITLE_WITHIN])
    return " ".join(html.unescape(match[1]).split())[:TITLE_LIMIT] if match is not None else ""


def _sniffed_charset(body: bytes) -> str:
    match = _META_CHARSET.search(body[:_SNIFFED_BYTES])
    return match[1].decode("ascii") if match else ""
