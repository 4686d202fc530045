from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from hub.messaging.outbox.markup import TEXT_LIMIT, Flavour, render

TELEGRAM_TAGS = {"b", "i", "s", "a", "code", "pre", "blockquote"}
_PIECES = (
    *("**", "*", "_", "~~", "`", "```", "\n", "\n\n", "- ", "1. ", "> ", "# ", "| a | b |\n|---|---|\n| c |", "    "),
    *("[", "](https://a.org/?b=1&c)", "![", "<", ">", "&", "&amp;", "\\", "x", " ", "中", "🙂", "\ud800", "\x00", "|"),
)
MARKDOWN = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


class _TagsBalance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(text=MARKDOWN, flavour=st.sampled_from(Flavour))
def test_the_words_of_any_text_are_kept_in_every_flavour(text: str, flavour: Flavour) -> None:
    assert render(f"{text}\n\nthe end", flavour).count("中") >= (text.count("中") if "|" not in text else 0)


@given(text=MARKDOWN)
def test_html_for_telegram_has_only_its_tags_and_closes_them_in_order(text: str) -> None:
    parser = _TagsBalance()
    rendered = render(text, Flavour.HTML_TELEGRAM)

    parser.feed(rendered)
    parser.close()

    assert not parser.open
    assert parser.seen <= TELEGRAM_TAGS
    assert "<" not in re.sub(r"</?[a-z]+( [a-z]+=\"[^\"<>]*\")?>", "", rendered)


@given(text=st.text(alphabet="<>&ab/\"'é中", min_size=1, max_size=60), flavour=st.sampled_from(Flavour))
def test_text_without_marks_is_escaped_and_kept(text: str, flavour: Flavour) -> None:
    rendered = render(f"x{text}x", flavour)

    escaped = flavour in (Flavour.HTML_TELEGRAM, Flavour.HTML_MATRIX, Flavour.MRKDWN)
    shown = html.unescape(re.sub(r"</?p>", "", rendered)) if escaped else rendered
    assert shown in (f"x{text}x", html.unescape(f"x{text}x"))


@given(
    word=st.text(alphabet="abc中", min_size=1, max_size=10),
    mark=st.sampled_from(["**{}**", "*{}*", "~~{}~~", "`{}`", "# {}", "```\n{}\n```"]),
)
def test_plain_text_has_no_marks(word: str, mark: str) -> None:
    assert render(mark.format(word), Flavour.PLAIN) == word


@pytest.mark.parametrize(
    ("markdown", "flavour", "expected"),
    [
        ("**b** *i* ~~s~~ `a<b`", Flavour.HTML_TELEGRAM, "<b>b</b> <i>i</i> <s>s</s> <code>a&lt;b</code>"),
        ("# A **b**", Flavour.HTML_TELEGRAM, "<b>A b</b>"),
        ("[x](https://a.org/?b&c)", Flavour.HTML_TELEGRAM, '<a href="https://a.org/?b&amp;c">x</a>'),
        ("[x](notes.md)", Flavour.HTML_TELEGRAM, "x (notes.md)"),
        ("> a\n> > b", Flavour.HTML_TELEGRAM, "<blockquote>a\n\nb</blockquote>"),
        ("```py\na<b\n```", Flavour.HTML_TELEGRAM, '<pre><code class="language-py">a&lt;b</code></pre>'),
        ("- a\n- b\n  1. c", Flavour.HTML_TELEGRAM, "• a\n• b\n  1. c"),
        ("|a|b|\n|-|-|\n|long|c|", Flavour.HTML_TELEGRAM, "<pre>a    | b\n-----+--\nlong | c</pre>"),
        ("~~a~~ ![p](https://a/b.png)", Flavour.HTML_MATRIX, '<p><del>a</del> <a href="https://a/b.png">p</a></p>'),
        ("**b** *i* ~~s~~ [x](https://a.org)", Flavour.MRKDWN, "*b* _i_ ~s~ <https://a.org|x>"),
        ("中**粗**文 <!channel>", Flavour.MRKDWN, "中\u200b*粗*\u200b文 &lt;!channel&gt;"),
        ("**a\nb**", Flavour.MRKDWN, "*a*\n*b*"),
        ("**b** [x](https://a.org)", Flavour.WHATSAPP, "*b* x (https://a.org)"),
        ("**b** \\*c\\*\x02", Flavour.IRC, "\x02b\x02 *c*"),
        ("- **b**\n\n| a |\n|---|\n| c |\n\nend", Flavour.DISCORD, "- **b**\n\n```\na\n-\nc\n```\n\nend"),
        ("<https://a.org>", Flavour.PLAIN, "https://a.org"),
        ("> **a**\n\n- b", Flavour.PLAIN, "> a\n\n- b"),
    ],
)
def test_what_each_flavour_writes(markdown: str, flavour: Flavour, expected: str) -> None:
    assert render(markdown, flavour) == expected


def test_a_text_that_is_too_long_to_parse_is_shown_as_it_is() -> None:
    assert render("**a** <" + " " * TEXT_LIMIT, Flavour.HTML_TELEGRAM).startswith("**a** &lt;")
