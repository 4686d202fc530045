from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from web.chat.markdown import Markdown
from web.memory.marks import Marker


@pytest.mark.parametrize(
    ("query", "html", "marked"),
    [
        ("boiler", "<p>The boiler works</p>", "<p>The <mark>boiler</mark> works</p>"),
        ("when were the boilers serviced?", "A Boiler, service", "A <mark>Boiler</mark>, <mark>service</mark>"),
        ("the", "<p>the end</p>", "<p>the end</p>"),
        ("绿茶", "<p>我喜欢喝绿茶。</p>", "<p>我喜欢喝<mark>绿茶</mark>。</p>"),
        ("什么时候喝绿茶", "喝绿茶的人", "<mark>喝绿茶</mark>的人"),
        ("a strong tag", "<strong>x</strong> tag", "<strong>x</strong> <mark>tag</mark>"),
        ("amp lt", "a &amp; b &lt;i&gt;", "a &amp; b &lt;i&gt;"),
        ("cafe", "Café &amp; bar", "<mark>Café</mark> &amp; bar"),
        ("\u8c48", "在\uf900", "在<mark>\uf900</mark>"),
        ("", "boiler", "boiler"),
    ],
)
def test_the_words_of_a_question_are_marked(query: str, html: str, marked: str) -> None:
    assert Marker(query).mark(html) == marked


@given(st.text(max_size=30), st.text(alphabet="ab <>&;\"'#*_`[]()/:x1\n绿茶é", max_size=60))
def test_nothing_but_marks_is_added(query: str, text: str) -> None:
    html = Markdown().render(text)

    assert re.sub(r"</?mark>", "", Marker(query).mark(html)) == html
