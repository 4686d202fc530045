"""Markdown in a platform's flavour: one walk over the parsed text, and a table of marks for each flavour.

What was text stays text: it is escaped where the platform has an escape. Slack and WhatsApp have none for their marks.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

TEXT_LIMIT = 100_000
"""Characters of one text that are parsed; a longer one is shown as it is."""

BLOCK_FREE = 5_000
COST_LIMIT = 100_000_000
"""Marks times characters of long blocks; about a tenth of a second. The rest is shown as it is."""

_INFO = re.compile(r"[\w+#.-]{1,30}")
_LINK = re.compile(r"(https?|mailto|tel|tg):", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://(?:www\.)?([^\s/?#:]+)\S*")
_PICTURES = re.compile("[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BAR = "———"
_ZERO_WIDTH = "\u200b"


class Flavour(StrEnum):
    """The markup of a platform."""

    HTML_TELEGRAM = "html_telegram"
    HTML_MATRIX = "html_matrix"
    MRKDWN = "mrkdwn"
    WHATSAPP = "whatsapp"
    DISCORD = "discord"
    IRC = "irc"
    RANGES = "ranges"
    """Plain text with control characters where styled ranges begin and end."""
    PLAIN = "plain"
    SPOKEN = "spoken"
    """Words for the ear: without code, tables, addresses and marks."""


class _Marks(Struct, frozen=True):
    """The marks of a flavour whose lists and headings are text.

    Attributes:
        fence: The lines around a block of code.
        link: With {url} and {text}; None when both are written out.
        per_line: Whether a mark ends with its line.
        at_words: Whether a mark counts only next to a character that is not a letter.
    """

    strong: tuple[str, str] = ("", "")
    em: tuple[str, str] = ("", "")
    s: tuple[str, str] = ("", "")
    code_inline: tuple[str, str] = ("", "")
    fence: tuple[str, str] = ("", "")
    quote: str = "> "
    bullet: str = "•"
    link: str | None = None
    per_line: bool = False
    at_words: bool = False


_TICKS = ("```\n", "\n```")
_FLAVOURS = {
    Flavour.HTML_TELEGRAM: _Marks(
        strong=("<b>", "</b>"),
        em=("<i>", "</i>"),
        s=("<s>", "</s>"),
        code_inline=("<code>", "</code>"),
        fence=("<pre>", "</pre>"),
        quote="",
        link='<a href="{url}">{text}</a>',
    ),
    Flavour.MRKDWN: _Marks(
        strong=("*", "*"),
        em=("_", "_"),
        s=("~", "~"),
        code_inline=("`", "`"),
        fence=_TICKS,
        link="<{url}|{text}>",
        per_line=True,
        at_words=True,
    ),
    Flavour.WHATSAPP: _Marks(
        strong=("*", "*"), em=("_", "_"), s=("~", "~"), code_inline=("`", "`"), fence=_TICKS, per_line=True
    ),
    Flavour.IRC: _Marks(
        strong=("\x02", "\x02"), em=("\x1d", "\x1d"), s=("\x1e", "\x1e"), code_inline=("\x11", "\x11"), per_line=True
    ),
    Flavour.RANGES: _Marks(
        strong=("\x02", "\x03"),
        em=("\x04", "\x05"),
        s=("\x06", "\x07"),
        code_inline=("\x0e", "\x0f"),
        fence=("\x0e", "\x0f"),
        bullet="-",
    ),
    Flavour.PLAIN: _Marks(bullet="-"),
    Flavour.SPOKEN: _Marks(quote="", bullet="", link="{text}"),
}


def render(markdown: str, flavour: Flavour) -> str:
    """Return Markdown in a platform's flavour; any text has a form in every flavour.

    Args:
        markdown: An agent's text: CommonMark with tables and strikethrough.
        flavour: The platform's markup.
    """
    if is_costly(markdown):
        return _escape(markdown, flavour)
    from markdown_it.tree import SyntaxTreeNode

    tokens = _parser().parse(markdown)
    if flavour is Flavour.HTML_MATRIX:
        return _matrix(tokens)
    root = SyntaxTreeNode(tokens)
    if flavour is Flavour.DISCORD:
        return _tables_as_code(markdown, root)
    return _Writer(flavour).blocks(root.children).strip("\n")


def spoken_words(markdown: str) -> str:
    """Return what of Markdown is read out, in lines: neither code, tables, addresses nor marks."""
    lines = (" ".join(line.split()) for line in render(markdown, Flavour.SPOKEN).splitlines())
    return "\n".join(filter(None, lines))


def is_costly(text: str) -> bool:
    """Whether parsing would take quadratic time: each mark is compared with the rest of its block."""
    if len(text) > TEXT_LIMIT:
        return True
    cost = 0
    for block in text.split("\n\n"):
        if len(block) > BLOCK_FREE:
            cost += len(block) * sum(block.count(mark) for mark in "[*_~")
    return cost > COST_LIMIT


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def _escape(text: str, flavour: Flavour) -> str:
    if flavour in (Flavour.HTML_TELEGRAM, Flavour.HTML_MATRIX, Flavour.MRKDWN):
        return html.escape(text, quote=False)
    if flavour is Flavour.SPOKEN:
        return _ADDRESS.sub(lambda found: found[1], _PICTURES.sub("", text))
    return _CONTROLS.sub("", text) if flavour in (Flavour.IRC, Flavour.RANGES) else text


class _Writer:
    """Writes a tree as lines of text with marks."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._marks = _FLAVOURS[flavour]
        self._open: list[str] = []
        self._quotes = 0

    def blocks(self, nodes: Sequence[SyntaxTreeNode], indent: int = 0, between: str = "\n\n") -> str:
        return between.join(filter(None, (self._block(node, indent) for node in nodes)))

    def _block(self, node: SyntaxTreeNode, indent: int) -> str:
        match node.type:
            case "paragraph":
                return self._lines(self._inline(node.children), indent)
            case "heading":
                return self._lines(self._marked("strong", node.children), indent)
            case "bullet_list" | "ordered_list":
                return self._list(node, indent)
            case "blockquote":
                return self._quote(node)
            case "fence" | "code_block":
                return self._code(node.content.rstrip("\n"), node.info.strip())
            case "table":
                return self._code("\n".join(_table_lines(node)))
            case "hr":
                return self._lines(_BAR, indent) if self._flavour is not Flavour.SPOKEN else ""
        return self._lines(self._inline([node]), indent)

    def _lines(self, text: str, indent: int) -> str:
        before = self._marks.quote * self._quotes + " " * indent
        return "\n".join(before + line for line in text.split("\n")) if text else ""

    def _list(self, node: SyntaxTreeNode, indent: int) -> str:
        number = int(node.attrs.get("start", 1))
        items = []
        for position, item in enumerate(node.children):
            sign = f"{number + position}. " if node.type == "ordered_list" else f"{self._marks.bullet} "
            text = self.blocks(item.children, indent + len(sign), between="\n")
            blank = self._lines(" ", indent + len(sign))[:-1]
            bare = text.removeprefix(blank)
            first = self._lines(sign, indent)
            items.append(first + bare if len(bare) < len(text) else f"{first.rstrip()}\n{text}".rstrip("\n"))
        return "\n".join(items)

    def _quote(self, node: SyntaxTreeNode) -> str:
        self._quotes += 1
        text = self.blocks(node.children, between="\n" + self._marks.quote * self._quotes + "\n")
        self._quotes -= 1
        # Telegram has no quote inside a quote.
        if self._flavour is Flavour.HTML_TELEGRAM and text and not self._quotes:
            return f"<blockquote>{text}</blockquote>"
        return text

    def _code(self, text: str, info: str = "") -> str:
        if self._flavour is Flavour.SPOKEN:
            return ""
        before, after = self._marks.fence
        if info and not _INFO.fullmatch(info.split(maxsplit=1)[0]):  # no language: somebody wrote on behind the fence
            text = f"{info}\n{text}"
        if before == _TICKS[0]:
            text = text.replace("```", f"``{_ZERO_WIDTH}`")
        text = _escape(text, self._flavour)
        if self._flavour is Flavour.HTML_TELEGRAM and (found := _INFO.match(info)):
            text = f'<code class="language-{found[0]}">{text}</code>'
        return self._lines(f"{before}{text}{after}", 0)

    def _inline(self, nodes: Sequence[SyntaxTreeNode]) -> str:
        written = ""
        after_mark = False
        for node in nodes:
            piece = self._piece(node)
            is_mark = self._marks.at_words and node.type in ("strong", "em", "s", "code_inline")
            if piece and written and ((is_mark and written[-1].isalnum()) or (after_mark and piece[0].isalnum())):
                written += _ZERO_WIDTH
            written += piece
            after_mark = is_mark if piece else after_mark
        return written

    def _piece(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "text" | "text_special":
                return _escape(node.content, self._flavour)
            case "softbreak" | "hardbreak":
                return self._break()
            case "code_inline":
                return self._code_inline(node.content)
            case "strong" | "em" | "s":
                return self._marked(node.type, node.children)
            case "link" | "image":
                return self._link(node)
        return self._inline(node.children) if node.children else _escape(node.content, self._flavour)

    def _marked(self, name: str, nodes: Sequence[SyntaxTreeNode]) -> str:
        if name in self._open:
            return self._inline(nodes)
        self._open.append(name)
        text = self._inline(nodes)
        self._open.pop()
        before, after = getattr(self._marks, name)
        return f"{before}{text}{after}" if text.strip() else text

    def _break(self) -> str:
        if not self._marks.per_line:
            return "\n"
        ends = "".join(getattr(self._marks, name)[1] for name in reversed(self._open))
        begins = "".join(getattr(self._marks, name)[0] for name in self._open)
        return f"{ends}\n{begins}"

    def _code_inline(self, text: str) -> str:
        before, after = self._marks.code_inline
        if before == "`" and "`" in text:
            before = after = ""
        return f"{before}{_escape(text, self._flavour)}{after}"

    def _link(self, node: SyntaxTreeNode) -> str:
        address = str(node.attrs.get("href" if node.type == "link" else "src", ""))
        text = self._inline(node.children)
        shown = _plain(node.children)
        if not address or shown in (address, address.removeprefix("mailto:")):
            return text or _escape(address, self._flavour)
        if not shown.strip():
            return _escape(address, self._flavour)
        if self._flavour is Flavour.SPOKEN:
            return text
        if self._marks.link is None or not _LINK.match(address):
            return f"{text} ({_escape(address, self._flavour)})"
        if self._marks.per_line:
            text = text.replace("\n", " ")
        return self._marks.link.format(url=html.escape(address), text=text)


def _plain(nodes: Sequence[SyntaxTreeNode]) -> str:
    return _Writer(Flavour.PLAIN)._inline(nodes)


def _table_lines(table: SyntaxTreeNode) -> list[str]:
    rows = [
        [_plain(cell.children).replace("\n", " ") for cell in row.children]
        for part in table.children
        for row in part.children
    ]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        " | ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [lines[0], "-+-".join("-" * width for width in widths), *lines[1:]]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _tables_as_code(markdown: str, root: SyntaxTreeNode) -> str:
    """Return Markdown whose tables are blocks of code; Discord shows the rest itself."""
    lines = markdown.split("\n")
    for node in reversed(root.children):
        if node.type == "table" and node.map:
            text = "\n".join(_table_lines(node)).replace("```", f"``{_ZERO_WIDTH}`")
            lines[node.map[0] : node.map[1]] = ["```", *text.split("\n"), "```"]
    return "\n".join(lines)


def _matrix(tokens: Sequence[Token]) -> str:
    """Return the HTML that clients of Matrix show; pictures become links, as theirs must lie on the homeserver."""
    parser = _parser()
    for token in tokens:
        token.attrs.pop("style", None)
        for child in token.children or ():
            child.tag = "del" if child.tag == "s" else child.tag
            if child.type == "image":
                address = html.escape(str(child.attrs.get("src", "")))
                shown = html.escape(child.content) or address
                child.type, child.content = "html_inline", f'<a href="{address}">{shown}</a>'
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered.strip()
