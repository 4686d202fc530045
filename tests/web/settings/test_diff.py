from __future__ import annotations

import difflib

from hypothesis import given, strategies as st

from web.settings.diff import LINE_LIMIT, diff_lines, file_diffs

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


CONTENT = st.lists(st.text(alphabet="-+@ ab", max_size=6), max_size=8)


@given(st.lists(st.tuples(CONTENT, CONTENT).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=4))
def test_each_file_of_a_difference_stands_by_itself_whatever_is_in_it(pairs: list[tuple[list[str], list[str]]]) -> None:
    names = [f"memory/{number}.md" for number in range(len(pairs))]
    parts = [
        "\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm=""))
        for name, (old, new) in zip(names, pairs, strict=True)
    ]

    found = file_diffs("\n".join(parts))

    assert [each.name for each in found] == names
    for each, (old, new) in zip(found, pairs, strict=True):
        assert [line.text for line in each.lines if line.kind == "remove"] == [
            line[1:] for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:1] == "-"
        ][1:]
        assert [line.text for line in each.lines if line.kind == "add"] == [
            line[1:] for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:1] == "+"
        ][1:]


def test_a_file_that_was_taken_away_keeps_its_name() -> None:
    gone = "\n".join(difflib.unified_diff(["a"], [], "a/memory/x.md", "/dev/null", lineterm=""))

    assert [each.name for each in file_diffs(gone)] == ["memory/x.md"]


def test_many_long_differences_are_cut_together() -> None:
    long = "\n".join(difflib.unified_diff([], [str(n) for n in range(LINE_LIMIT)], "a/x", "b/x", lineterm=""))

    found = file_diffs("\n".join([long, long, long]))

    assert sum(len(each.lines) for each in found) <= LINE_LIMIT + 2


def test_what_is_no_difference_has_no_files() -> None:
    assert file_diffs("") == []
    assert file_diffs("--- only\nhalf of it") == []
