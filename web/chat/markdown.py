"""Markdown of chats as safe HTML: no raw HTML, no outside pictures, links without a referrer."""

from __future__ import annotations

import asyncio
import html
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hub.core.lazy_pattern import LazyPattern
from hub.messaging.outbox.markup import is_costly
from web.chat.highlight import highlight

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HEADING_BELOW = 2
"""Level of the heading above a message; those inside it begin one below."""

_TAGS = {
    *("a", "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "div"),
    *("header", "span", "button"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "code": {"class"},
    "th": {"class"},
    "td": {"class"},
    "pre": {"tabindex"},
    "div": {"class", "tabindex"},
    "span": {"class"},
}
_LINK = LazyPattern(r"^(https?://|mailto:)", re.IGNORECASE)
_CLASS = LazyPattern(r"^(language-[a-zA-Z0-9_+-]{1,30}|align-(left|center|right))$")
_FENCE = LazyPattern(r"^ {0,3}(`{3,}|~{3,})")
_CONTINUES = LazyPattern(r"^([ \t>|]|[-*+] |\d{1,9}[.)] |\[[^\]]*\]:)")
_UNDECIDED = LazyPattern(r"^([-*+]|\d{1,9}[.)]?|\[[^\]]*\]?)$")
_ALIGN = LazyPattern(r"^text-align:(left|center|right)$")


class Markdown:
    """Renders Markdown; the parser is loaded with the first text, and results are cached for a while.

    Args:
        cache_chars: The size of the cache, in characters.
    """

    def __init__(self, cache_chars: int = 1_000_000) -> None:
        self._parser: MarkdownIt | None = None
        self._cache_chars = cache_chars
        self._cached: OrderedDict[str, str] = OrderedDict()
        self._held_chars = 0

    async def prepare(self, texts: Iterable[str]) -> bool:
        """Render texts for `render_kept` in a thread: those of a long conversation would hold the loop for a second.

        Returns:
            Whether there was anything to do, and so time for other things to happen.
        """
        unknown = [text for text in dict.fromkeys(texts) if text not in self._cached]
        if unknown:
            for text, html_text in zip(unknown, await asyncio.to_thread(self._render_all, unknown), strict=True):
                self._keep(text, html_text)
        return bool(unknown)

    def render_kept(self, text: str) -> str:
        """Like `render`, for texts that will be shown again."""
        known = self._cached.get(text)
        if known is not None:
            self._cached.move_to_end(text)
            return known
        html_text = self.render(text)
        self._keep(text, html_text)
        return html_text

    def render(self, text: str) -> str:
        """Return `text` as HTML that is safe to put into a page.

        Headings are moved below the page's own, pictures become links, and only http, https and mailto links stay.
        """
        if is_costly(text):
            return f'<pre tabindex="0">{html.escape(text)}</pre>'
        import nh3

        parser = self._load()
        tokens = parser.parse(text)
        _lower_headings(tokens)
        raw = parser.renderer.render(tokens, parser.options, {})
        return nh3.clean(
            raw,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            attribute_filter=_filter_attribute,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )

    def _render_all(self, texts: Sequence[str]) -> list[str]:
        return [self.render(text) for text in texts]

    def _keep(self, text: str, html_text: str) -> None:
        if text not in self._cached:
            self._held_chars += len(text)
        self._cached[text] = html_text
        while self._held_chars > self._cache_chars:
            oldest, _ = self._cached.popitem(last=False)
            self._held_chars -= len(oldest)

    def _load(self) -> MarkdownIt:
        if self._parser is None:
            from markdown_it import MarkdownIt

            parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
            parser.add_render_rule("image", _image_as_link)
            for kind in ("fence", "code_block"):
                parser.add_render_rule(kind, _code)
            parser.add_render_rule("table_open", _scrolling_table)
            parser.add_render_rule("table_close", _table_end)
            parser.add_render_rule("th_open", _cell)
            parser.add_render_rule("td_open", _cell)
            self._parser = parser
        return self._parser


def split_blocks(text: str) -> list[str]:
    """Cut a streamed text at places before which it can no longer change.

    Cuts are at blank lines outside fences, before a line that begins a block of its own. Joining the parts with one
    blank line between them gives a text that renders the same.
    """
    blocks: list[str] = []
    current: list[str] = []
    fence = ""
    blank = False
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        mark = _FENCE.match(line)
        begins = bool(line.strip()) and not _CONTINUES.match(line)
        if number == len(lines) and _UNDECIDED.match(line):
            begins = False  # the rest of this line will tell
        if blank and not fence and begins and any(part.strip() for part in current):
            blocks.append("\n".join(current).rstrip("\n"))
            current = []
        if mark is not None:
            run = mark.group(1)
            if not fence:
                fence = run
            elif run[0] == fence[0] and len(run) >= len(fence) and not line.strip().strip(run[0]):
                fence = ""
        current.append(line)
        blank = not line.strip()
    blocks.append("\n".join(current))
    return blocks


def _lower_headings(tokens: Sequence[Token]) -> None:
    """Move headings below the page's own and let none skip a level."""
    above = HEADING_BELOW
    for token in tokens:
        if token.type == "heading_open":
            above = min(int(token.tag[1]) + HEADING_BELOW, above + 1, 6)
            token.tag = f"h{above}"
        elif token.type == "heading_close":
            token.tag = f"h{above}"


def _image_as_link(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    address = html.escape(str(token.attrs.get("src", "")), quote=True)
    words = html.escape(token.content or str(token.attrs.get("src", "")))
    return f'<a href="{address}">{words}</a>'


def _code(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Write a block of code with its language, its colours and a place for a button to copy it.

    It can be reached, and so scrolled sideways, with the keyboard. Who shows it fills in the empty button.
    """
    token = tokens[index]
    (language, *_) = (*token.info.split(), "")
    head = f"<header><span>{html.escape(language)}</span><button></button></header>"
    coloured = highlight(token.content, language)
    return f'<div class="code">{head}<pre tabindex="0"><code>{coloured}</code></pre></div>\n'


def _scrolling_table(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return '<div class="scroll" tabindex="0"><table>\n'


def _table_end(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _cell(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    match = _ALIGN.match(str(token.attrs.get("style", "")))
    return f'<{token.tag} class="align-{match.group(1)}">' if match else f"<{token.tag}>"


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return value if _LINK.match(value) else None
    if name == "tabindex":
        return value if value == "0" else None
    if tag == "div":
        return value if value in ("scroll", "code") else None
    if tag == "span":
        return value if value in ("k", "s", "c", "m", "nf") else None
    if name == "class":
        return value if _CLASS.match(value) else None
    if name == "start":
        return value if value.isdigit() and len(value) <= 9 else None
    return value
