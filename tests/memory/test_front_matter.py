"""What a file says of all that is in it holds for all of it, and nothing in the text can add to it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.memory.front_matter import FrontMatter, front_matter, holds_outside_words, with_front_matter
from hub.memory.markdown import passages

_ENTRY = "- two\n  _fact · 2026-05-12 14:03 · from me in `agent:main:main`_\n"


def test_front_matter_holds_for_all_of_a_file() -> None:
    text = "---\ntitle: Old notes\nsource: openclaw\nperson: me\ntrusted: no\n---\n# A\n\n- one\n" + _ENTRY

    front, first = front_matter(text)

    assert front == FrontMatter(trusted=False, source="openclaw", title="Old notes", person="me")
    assert text.split("\n")[first - 1] == "# A"
    assert [(each.text, each.trusted, each.person, each.session) for each in passages(text)] == [
        ("one", False, "me", None),
        ("two", False, "me", "agent:main:main"),
    ]


def test_front_matter_that_is_never_closed_is_text_and_takes_trust_away_all_the_same() -> None:
    assert front_matter("---\ntrusted: false\nsource: web\n\n- The parcel comes on Friday\n") == (FrontMatter(False), 1)


@pytest.mark.parametrize(
    "text",
    [
        "--- \n" + "x: y\n" * 40 + "---\n",
        "----\n---\n",
        "\n---\na: b\n---\n",
        "---\nprose\n---\n",
    ],
)
def test_what_is_no_front_matter_says_nothing(text: str) -> None:
    assert front_matter(text) == (FrontMatter(), 1)


@given(st.text(max_size=80), st.text(max_size=80), st.booleans(), st.text(max_size=200))
def test_front_matter_is_read_back_and_nothing_can_add_to_it(source: str, title: str, trusted: bool, text: str) -> None:
    made = with_front_matter(FrontMatter(trusted, source=source, title=title), text)

    front, first = front_matter(made)

    assert (front.trusted, front.person, front.session) == (trusted, None, None)
    assert "\n".join(made.split("\n")[first - 1 :]).lstrip("\n") == text.lstrip("\n")


@pytest.mark.parametrize(
    ("text", "from_outside"),
    [
        (_ENTRY, False),
        (_ENTRY.replace("`_", "` · untrusted_"), True),
        ("---\ntrusted: false\n---\n- one\n", True),
        ("---\ntrusted: true\n---\n- one\n", False),
        ("- one\n_from outside · untrusted_", True),
        ("", False),
    ],
)
def test_a_memory_file_tells_whether_words_from_outside_are_in_it(text: str, from_outside: bool) -> None:
    assert holds_outside_words(text) is from_outside
