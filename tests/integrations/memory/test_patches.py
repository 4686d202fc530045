"""Changes of texts as lines: they can be taken back exactly, and taken out when others changed the text since."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.files.patches import (
    Hunk,
    PatchConflict,
    hunks_between,
    undo_exactly,
    unified_diff,
    without_change,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  x", "é", "\udcff", "d\r"]), max_size=12).map("\n".join)


@given(LINES, LINES)
def test_what_was_changed_is_taken_back_exactly(before: str, after: str) -> None:
    hunks = hunks_between(before, after)

    assert undo_exactly(after, hunks) == before
    assert bool(hunks) == (before != after)


@given(LINES, st.integers(0, 12), st.integers(0, 12))
def test_one_addition_is_taken_out_and_another_stays(text: str, at: int, other_at: int) -> None:
    lines = [f"{number}: {line}" for number, line in enumerate(text.split("\n"))]
    at, other_at = min(at, len(lines)), min(other_at, len(lines))
    with_one = [*lines[:at], "- one", "  its source", *lines[at:]]
    place = other_at if other_at <= at else other_at + 2
    with_both = [*with_one[:place], "- other", *with_one[place:]]

    left = without_change("\n".join(with_both), hunks_between("\n".join(lines), "\n".join(with_one)))

    assert sorted(left.split("\n")) == sorted([*lines, "- other"])


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        ("a\nb\nc", "a\nX\nc", "a\nY\nc"),
        ("a\nb\nc", "a\nc", "a\nz\nc"),
        ("a\nb\nc", "a\nX\nc", "a\nX\nc\na\nX\nc"),
        ("a\nb\na\nb", "a\nb\nX\na\nb", "q\nX\nq\nX\nq"),
    ],
)
def test_what_is_not_there_or_not_clear_is_not_guessed(before: str, after: str, now: str) -> None:
    with pytest.raises(PatchConflict):
        without_change(now, hunks_between(before, after))


def test_lines_that_were_taken_out_go_back_between_those_that_they_stood_between() -> None:
    hunks = hunks_between("a\nb\nc\n", "a\nc\n")

    assert without_change("new\na\nc\nnew\n", hunks) == "new\na\nb\nc\nnew\n"


@given(LINES, LINES)
def test_a_diff_is_one_that_others_understand(before: str, after: str) -> None:
    hunks = hunks_between(before, after)
    shown = list(unified_diff("memory/x.md", hunks, is_new=False, is_gone=False))

    assert shown[:2] == ["--- a/memory/x.md", "+++ b/memory/x.md"]
    assert [line[1:] for line in shown[2:] if line[0] == "-"] == [line for each in hunks for line in each.before]
    assert [line[1:] for line in shown[2:] if line[0] == "+"] == [line for each in hunks for line in each.after]


def test_a_diff_can_be_applied_by_patch(tmp_path: Path) -> None:
    before = "".join(f"line {number}\n" for number in range(30))
    after = before.replace("line 3\n", "").replace("line 20\n", "line twenty\nand one\n")
    (tmp_path / "x.md").write_text(before)
    shown = "\n".join(unified_diff("x.md", hunks_between(before, after), is_new=False, is_gone=False)) + "\n"

    done = subprocess.run(
        ["git", "apply", "-p1", "-"], cwd=tmp_path, input=shown, text=True, capture_output=True, timeout=20, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x.md").read_text() == after


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("", "a\nb\n", ["--- /dev/null", "+++ b/memory/x.md", "@@ -0,0 +1,2 @@", "+a", "+b"]),
        ("a\nb\n", "", ["--- a/memory/x.md", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", "-b"]),
    ],
)
def test_a_whole_file_is_shown_without_a_line_behind_its_end(before: str, after: str, shown: list[str]) -> None:
    lines = tuple(tuple(text.split("\n")) if text else () for text in (before, after))
    hunk = Hunk(0, 0, lines[0], lines[1])

    assert list(unified_diff("memory/x.md", [hunk], is_new=not before, is_gone=not after)) == shown
