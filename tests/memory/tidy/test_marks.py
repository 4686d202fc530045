"""The heading "To be settled": marks are put, found again, and leave no trace."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.memory.tidy.marks import HINT, SHOWN_LIMIT, TO_BE_SETTLED, Side, marks_in, one_line, with_marks

ONE = Side("Anna eats meat", "MEMORY.md, 2026-05-01")
OTHER = Side("安娜不吃肉", "memory/2026-05-02.md, 2026-05-02")
TITLE = "# Memory"


@pytest.mark.parametrize("text", ["", "# Memory\n", "# Memory\n\n- a\n\n## Facts\n\n- b\n", "words\n"])
def test_what_is_marked_is_found_and_leaves_no_trace(text: str) -> None:
    marked = with_marks(text, [], [(ONE, OTHER)], TITLE)

    marks = marks_in(marked)

    assert [(mark.sides, mark.both_hold) for mark in marks] == [(frozenset({ONE.shown, OTHER.shown}), False)]
    assert with_marks(marked, marks, [], TITLE) == (text or f"{TITLE}\n")


def test_a_file_of_its_own_is_empty_when_nothing_is_to_be_settled() -> None:
    marked = with_marks("", [], [(ONE, OTHER)], f"# {TO_BE_SETTLED}")

    assert marked.startswith(f"# {TO_BE_SETTLED}\n\n{HINT}\n\n- ")
    assert with_marks(marked, marks_in(marked), [], f"# {TO_BE_SETTLED}") == ""


def test_what_somebody_wrote_under_the_heading_stays() -> None:
    marked = with_marks("", [], [(ONE, OTHER)], TITLE) + "- ask Anna\n"

    after = with_marks(marked, marks_in(marked), [], TITLE)

    assert after == f"{TITLE}\n\n## {TO_BE_SETTLED}\n\n{HINT}\n\n- ask Anna\n"


def test_a_second_mark_goes_under_the_same_heading_which_need_not_be_the_last() -> None:
    marked = with_marks("# Memory\n", [], [(ONE, OTHER)], TITLE) + "\n## Facts\n\n- b\n"

    twice = with_marks(marked, [], [(ONE, Side("Ben eats meat", "x"))], TITLE)

    assert twice.count(f"## {TO_BE_SETTLED}") == 1
    assert len(marks_in(twice)) == 2
    assert with_marks(twice, marks_in(twice), [], TITLE) == "# Memory\n\n## Facts\n\n- b\n"


@pytest.mark.parametrize(
    "item",
    [
        "- Which of the two holds?\n",
        "- Which?\n  “a” (x)\n",
        "- Which?\n  “a” (x)\n  “a” (y)\n",
        "- Which?\n  a\n  b\n",
    ],
)
def test_what_is_no_pair_is_no_mark(item: str) -> None:
    assert marks_in(f"## {TO_BE_SETTLED}\n\n{item}") == []


@given(st.text(), st.text())
def test_whatever_two_entries_say_the_mark_is_found_again(one: str, other: str) -> None:
    sides = (Side(one_line(one), "MEMORY.md"), Side(one_line(other), "memory/2026-05-02.md, 2026-05-02"))

    marks = marks_in(with_marks("# Memory\n", [], [sides], TITLE))

    assert all(len(side.shown) <= SHOWN_LIMIT for side in sides)
    assert [mark.sides for mark in marks] == (
        [{sides[0].shown, sides[1].shown}] if one_line(one) != one_line(other) else []
    )
