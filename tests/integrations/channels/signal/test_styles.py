from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.messaging.outbox.markup import Flavour, render
from integrations.channels.signal.styles import styled
from tests.messaging.test_markup import MARKDOWN


def cut(text: str, style: str) -> tuple[str, str]:
    """Return the words of a range as Signal sees them, and the style."""
    start, length, name = style.split(":")
    units = text.encode("utf-16-le", errors="surrogatepass")[2 * int(start) : 2 * (int(start) + int(length))]
    return units.decode("utf-16-le", errors="surrogatepass"), name


@given(text=MARKDOWN)
def test_a_text_has_no_marks_and_its_ranges_are_within(text: str) -> None:
    shown, styles = styled(text)

    units = len(shown.encode("utf-16-le", errors="surrogatepass")) // 2
    starts = [(int(start), int(length)) for start, length, _ in (each.split(":") for each in styles)]
    assert shown.split() == render(text, Flavour.PLAIN).split()
    assert all(length > 0 and start + length <= units for start, length in starts)


@given(
    words=st.lists(st.text(alphabet="ab中🙂é", min_size=1, max_size=6), min_size=3, max_size=3),
    mark=st.sampled_from([("**", "BOLD"), ("*", "ITALIC"), ("~~", "STRIKETHROUGH"), ("`", "MONOSPACE")]),
)
def test_a_range_covers_just_what_was_marked(words: list[str], mark: tuple[str, str]) -> None:
    before, word, after = words

    text, styles = styled(f"{before} {mark[0]}{word}{mark[0]} {after}")

    assert text == f"{before} {word} {after}"
    assert [cut(text, each) for each in styles] == [(word, mark[1])]


@pytest.mark.parametrize(
    ("markdown", "text", "styles"),
    [
        ("# A **b**", "A b", ["0:3:BOLD"]),
        ("🙂 **a *b***", "🙂 a b", ["5:1:ITALIC", "3:3:BOLD"]),
        ("```py\na\nb\n```", "a\nb", ["0:3:MONOSPACE"]),
        ("- **a**\n- [x](https://a.org)", "- a\n- x (https://a.org)", ["2:1:BOLD"]),
        ("a\x03 \x02**b**", "a b", ["2:1:BOLD"]),
    ],
)
def test_what_a_text_becomes(markdown: str, text: str, styles: list[str]) -> None:
    assert styled(markdown) == (text, styles)
