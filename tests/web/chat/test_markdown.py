from __future__ import annotations

import asyncio
import itertools
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from hub.messaging.outbox.markup import TEXT_LIMIT
from web.chat.markdown import Markdown, split_blocks

ALLOWED_TAGS = {
    *("a", "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "div"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "header", "span", "button"),
}
ALLOWED_ATTRIBUTES = {"href", "title", "rel", "class", "start", "tabindex"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def assert_harmless(html: str) -> None:
    reader = _Reader()
    reader.feed(html)
    assert reader.tags <= ALLOWED_TAGS
    assert {name for name, _ in reader.attributes} <= ALLOWED_ATTRIBUTES
    links = [value for name, value in reader.attributes if name == "href"]
    assert all(re.match(r"(https?://|mailto:)", link, re.IGNORECASE) for link in links)


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src='//evil.example'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](//evil.example/x)",
    "[x](/logout)",
    "[x](https://a.example \"' onmouseover='alert(1)\")",
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    '<https://a.example/"onclick=alert(1)>',
    '```"><script>alert(1)</script>\nx\n```',
    "``` js onclick=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "| a |\n|:-:|\n| <b onclick=alert(1)>x</b> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[a]: javascript:alert(1)\n\n[a]",
    "<div hx-get='/logout' hx-trigger='load'>x</div>",
    "</div></article><form action=/logout><button>x",
    "<style>body{display:none}</style>",
    "\x00<script>alert(1)</script>",
    "1. x\n\n9999999999. y",
    '[a](http://x "<table>b</table><pre onclick=alert(1)>")',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_out_harmless(text: str) -> None:
    html = Markdown().render(text)

    assert_harmless(html)


@given(st.text(alphabet=st.sampled_from(list("<>&\"'`[]()!#*_-+.:/\\ \n\t|~abhjrsx=0123456789"))))
def test_any_text_comes_out_harmless(text: str) -> None:
    assert_harmless(Markdown().render(text))


@given(st.lists(st.sampled_from(HOSTILE)))
def test_hostile_texts_together_come_out_harmless(texts: list[str]) -> None:
    assert_harmless(Markdown().render("\n\n".join(texts)))


def test_a_picture_becomes_a_link_so_that_nothing_is_fetched() -> None:
    html = Markdown().render("![a cat](https://pictures.example/cat.png)")

    assert "<img" not in html
    assert 'href="https://pictures.example/cat.png"' in html
    assert ">a cat<" in html


def test_links_tell_nobody_where_they_came_from() -> None:
    html = Markdown().render("[x](https://a.example)")

    assert 'rel="noopener noreferrer nofollow"' in html


def test_headings_begin_below_the_pages_own_and_skip_no_level() -> None:
    html = Markdown().render("# one\n\n#### deep\n\n## two")

    assert re.findall(r"<(h\d)>", html) == ["h3", "h4", "h4"]


def test_a_text_beyond_the_limit_is_shown_as_written() -> None:
    html = Markdown().render("*" * (TEXT_LIMIT + 1))

    assert html.startswith('<pre tabindex="0">***')


def test_code_and_tables_can_be_scrolled_with_the_keyboard() -> None:
    html = Markdown().render("```py\nx\n```\n\n| a |\n|--:|\n| 1 |")

    assert '<pre tabindex="0">' in html
    assert '<div class="scroll" tabindex="0"><table>' in html
    assert '<td class="align-right">1</td>' in html


def test_markup_in_the_title_of_a_link_is_a_title_and_nothing_else() -> None:
    html = Markdown().render('[a](http://x.example "<table>b</table><pre>c")')
    reader = _Reader()
    reader.feed(html)

    assert reader.tags == {"p", "a"}
    assert ("title", "<table>b</table><pre>c") in reader.attributes


def test_what_was_rendered_is_remembered_within_its_bound() -> None:
    markdown = Markdown(cache_chars=10)

    first = [markdown.render_kept(text) for text in ("*a*", "*b*", "*cccccccc*", "*a*")]

    assert first[0] == first[3] == "<p><em>a</em></p>\n"


@given(st.text(alphabet=st.sampled_from(list("ab`~ \n-1.>#|"))))
def test_blocks_joined_give_the_text_again(text: str) -> None:
    blocks = split_blocks(text)

    assert _said("\n\n".join(blocks)) == _said(text)


def _said(text: str) -> list[str]:
    """Return the lines that say something."""
    return [line for line in text.split("\n") if line.strip()]


def test_a_block_that_is_finished_does_not_change_when_text_follows() -> None:
    text = "# Title\n\nFirst paragraph.\n\n```py\na\n\nb\n```\n\n- one\n\n- two\n\nLast"

    seen: list[list[str]] = [split_blocks(text[:end]) for end in range(len(text) + 1)]

    for before, after in itertools.pairwise(seen):
        assert after[: len(before) - 1] == before[:-1]
    assert seen[-1] == ["# Title", "First paragraph.", "```py\na\n\nb\n```\n\n- one\n\n- two", "Last"]


async def test_texts_are_rendered_ahead_while_the_loop_goes_on() -> None:
    markdown = Markdown()
    rendering = asyncio.ensure_future(markdown.prepare(["**a**", "*b*"]))

    await asyncio.sleep(0)

    assert not rendering.done()
    assert await rendering
    assert markdown.render_kept("**a**") == Markdown().render("**a**")


async def test_what_is_rendered_already_is_not_waited_for() -> None:
    markdown = Markdown()
    markdown.render_kept("a")

    assert not await markdown.prepare(["a", "a"])
    assert not await markdown.prepare([])


async def test_texts_rendered_ahead_are_forgotten_like_others() -> None:
    markdown = Markdown(cache_chars=4)

    await markdown.prepare(["abc", "def"])

    assert not await markdown.prepare(["def"])
    assert await markdown.prepare(["abc"])
