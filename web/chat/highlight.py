"""Colours for code: comments, strings, numbers, keywords and names of functions, as classes; not a parser."""

from __future__ import annotations

import html
import re

HIGHLIGHT_LIMIT = 20_000
"""Characters of code beyond which it stays plain."""
_HASH = frozenset({"python", "py", "bash", "sh", "shell", "yaml", "yml", "toml", "ruby", "rb", "conf", "dockerfile"})
_KEYWORDS = (
    "and as assert async await break case catch class const continue def del do elif else enum except export extends"
    " false finally fn for from func function if impl import in interface is lambda let loop match mut new nil none not"
    " null or package pass private public raise return self static struct super switch then this throw true try type"
    " use var void while with yield done esac fi echo select where insert update delete create table"
)
_WORDS = frozenset(_KEYWORDS.split())
_TOKEN = re.compile(
    r"""(?P<s>"{3}[\s\S]*?"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"""|(?P<c>/\*[\s\S]*?\*/|(?<![:\w])//[^\n]*|(?<![\w$&])\#[^\n]*|--\s[^\n]*)"""
    r"""|(?P<m>\b\d[\w.]*\b)|(?P<w>[A-Za-z_]\w*)(?P<call>(?=\())?"""
)
_PLAIN = frozenset({"", "text", "txt", "plain", "console", "output", "log"})


def highlight(code: str, language: str) -> str:
    """Return code as HTML in which some words have the classes k, s, c, m and nf.

    Args:
        code: The code.
        language: The language as its fence names it; without one, nothing is coloured.
    """
    language = language.lower()
    if language in _PLAIN or len(code) > HIGHLIGHT_LIMIT:
        return html.escape(code)
    pieces: list[str] = []
    end = 0
    for token in _TOKEN.finditer(code):
        if (kind := _kind(token, language)) is not None:
            pieces += [html.escape(code[end : token.start()]), f'<span class="{kind}">{html.escape(token[0])}</span>']
            end = token.end()
    return "".join([*pieces, html.escape(code[end:])])


def _kind(token: re.Match[str], language: str) -> str | None:
    if token["s"]:
        return "s"
    if comment := token["c"]:
        hashed, dashed = comment[0] == "#", comment[0] == "-"
        fits = (hashed and language in _HASH) or (dashed and language in ("sql", "lua")) or comment[0] == "/"
        return "c" if fits and not (comment[0] == "/" and language in _HASH) else None
    if token["m"]:
        return "m"
    if token["w"].lower() in _WORDS and token["w"] in (token["w"].lower(), token["w"].upper(), token["w"].title()):
        return "k"
    return "nf" if token["call"] is not None else None
