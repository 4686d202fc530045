from __future__ import annotations

import difflib

from hypothesis import given, strategies as st

from web.diff import LINE_LIMIT, diff_lines

TEXT = st.lists(st.sampled_from(["a: 1", "b: 2", "- x", "+ y", "@ z", "--- q", "+++ r", ""]))


def unified(before: list[str], after: list[str]) -> str:
    return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm=""))


def test_equal_texts_do_not_differ() -> None:
    assert diff_lines(unified(["a: 1"], ["a: 1"])) == []


def test_a_changed_line_is_removed_and_added() -> None:
    lines = diff_lines(unified(["a: 1", "b: 2"], ["a: 1", "b: 3"]))

    assert [(line.kind, line.text) for line in lines] == [
        ("hunk", "@@ -1,2 +1,2 @@"),
        ("same", "a: 1"),
        ("remove", "b: 2"),
        ("add", "b: 3"),
    ]


@given(TEXT, TEXT)
def test_the_added_lines_are_in_the_second_text_and_the_removed_in_the_first(
    before: list[str], after: list[str]
) -> None:
    lines = diff_lines(unified(before, after))

    assert all(line.text in after for line in lines if line.kind == "add")
    assert all(line.text in before for line in lines if line.kind == "remove")
    assert bool(lines) == (before != after)


def test_an_endless_difference_is_cut() -> None:
    lines = diff_lines(unified([], [str(number) for number in range(LINE_LIMIT * 2)]))

    assert len(lines) == LINE_LIMIT + 1
    assert lines[-1].text == "…"
