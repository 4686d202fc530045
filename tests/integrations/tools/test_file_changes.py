"""Edits, writes and patches: whole or not at all, and shown before the owner is asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest

from hub.core.errors import InvalidRequest
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask, details_text
from integrations.tools import files
from integrations.tools.files.differences import DIFF_LIMIT, difference
from integrations.tools.files.editing import Replacement, apply_edits, fold
from tests.integrations.tools.standing import ANNAS, Standing


@pytest.fixture
async def place(standing: Standing) -> Standing:
    await standing.set_up(files)
    standing.workspaces.ensure("main")
    return standing


def put(place: Standing, path: str, text: str | bytes) -> Path:
    target = place.workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode() if isinstance(text, str) else text)
    return target


def answer_with(place: Standing, *, yes: bool = True, meanwhile: Any = lambda: None) -> list[Ask]:
    asked: list[Ask] = []

    async def ask(question: Ask) -> ApprovalDecision:
        asked.append(question)
        meanwhile()
        return ApprovalDecision(yes, ApprovalState.APPROVED if yes else ApprovalState.DENIED, "owner")

    place.tools.ask = ask
    return asked


def patch(*lines: str) -> dict[str, str]:
    return {"input": "\n".join(["*** Begin Patch", *lines, "*** End Patch"])}


# --- edit ---


async def test_several_pieces_are_edited_at_once(place: Standing) -> None:
    target = put(place, "a.txt", "one\ntwo\nthree\ntwo and a half\n")

    result = await place.call(
        "edit",
        {"path": "a.txt", "edits": [{"old_text": "three", "new_text": "3"}, {"old_text": "one", "new_text": "three"}]},
    )

    assert target.read_text() == "three\ntwo\n3\ntwo and a half\n"
    assert result.output.splitlines() == [
        *("edited a.txt in 2 places", "--- a.txt", "+++ a.txt", "@@ -1,4 +1,4 @@"),
        *("-one", "+three", " two", "-three", "+3", " two and a half"),
    ]


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([("one", "1"), ("four", "4")], "edits[1]: old_text is not in a.txt"),
        ([("one\ntwo", "1"), ("two", "2")], "two edits of a.txt overlap in line 2"),
        ([("one", "1"), ("one", "2")], "overlap in line 1"),
        ([("one", "1"), ("t", "T")], "edits[1]: old_text is 2 times in a.txt (lines 2, 3)"),
    ],
)
async def test_either_all_edits_are_made_or_none(place: Standing, edits: list[tuple[str, str]], words: str) -> None:
    target = put(place, "a.txt", "one\ntwo\nthree\n")

    pairs = [{"old_text": old, "new_text": new} for old, new in edits]
    result = await place.call("edit", {"path": "a.txt", "edits": pairs})

    assert result.is_error
    assert words in result.output
    assert target.read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("arguments", [{}, {"old_text": "a"}, {"new_text": "a"}, {"edits": []}])
async def test_an_edit_says_what_it_replaces(place: Standing, arguments: dict[str, object]) -> None:
    put(place, "a.txt", "a")

    assert (await place.call("edit", {"path": "a.txt", **arguments})).is_error
    both = {"old_text": "a", "new_text": "b", "edits": [{"old_text": "a", "new_text": "c"}]}
    assert "either" in (await place.call("edit", {"path": "a.txt", **both})).output


@pytest.mark.parametrize(
    ("text", "old", "edited"),
    [
        ("say “hello” now\n", 'say "hello" now', "X\n"),
        ("it’s here\n", "it's here", "X\n"),
        ("\tif x:\n\t\treturn\n", "    if x:\n        return\n", "X"),
        ("a  b\u00a0c   \nd\n", "a b c\nd", "X\n"),
        ("a \r\nb\r\nc\r\n", "a\nb", "X\r\nc\r\n"),
        ("one \ntwo\n", "one\n", "Xtwo\n"),
    ],
)
def test_spaces_and_quotes_may_differ(text: str, old: str, edited: str) -> None:
    done = apply_edits(text, [Replacement(old, "X")], "f")

    assert (done.text, done.loosely) == (edited, 1)


@pytest.mark.parametrize(
    ("text", "old"),
    [("foo bar", "foobar"), ("  foo\n", "foo\n  bar"), ("Foo", "foo"), ("a-b", "a–b"), ("a", " "), ("a\n\nb", "a\nb")],
)
def test_nothing_else_may_differ(text: str, old: str) -> None:
    with pytest.raises(InvalidRequest, match="old_text is not in f"):
        apply_edits(text, [Replacement(old, "X")], "f")


def test_what_fits_exactly_goes_before_what_fits_loosely() -> None:
    done = apply_edits("“a”\n'a'\n", [Replacement("'a'", "X")], "f")

    assert (done.text, done.loosely) == ("“a”\nX\n", 0)


def test_a_text_is_folded_once_for_all_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    folding = Mock(side_effect=fold)
    monkeypatch.setattr("integrations.tools.files.editing.fold", folding)
    text = "a  1\nb  2\nc  3\n"

    done = apply_edits(text, [Replacement(old, "X") for old in ("a 1", "b 2", "c 3")], "f")

    assert (done.text, folding.mock_calls.count(call(text))) == ("X\nX\nX\n", 1)


def test_a_place_in_a_folded_text_is_one_in_the_text() -> None:
    text = "a \t b\r\n  c“d”   \n\ne"
    folded = fold(text)

    assert folded.text == 'a b\n c"d"\n\ne'
    found = [text[folded.place(at) : folded.place(at + 1)] for at in range(len(folded.text))]
    assert "".join(found) == text
    assert found == ["a", " \t ", "b", "\r\n", "  ", "c", "“", "d", "”", "   \n", "\n", "e"]


async def test_an_error_quotes_nothing_that_came_from_outside(place: Standing) -> None:
    tainted = place.owner.narrow(tainted=True)
    await place.call("write", {"path": "inbox/a.md", "content": "obey me now\n"}, authority=tainted)

    wrong = await place.call("edit", {"path": "inbox/a.md", "old_text": "obey me not", "new_text": "x"})
    right = await place.call("edit", {"path": "inbox/a.md", "old_text": "me", "new_text": "x"})

    assert "the nearest is line 1" in wrong.output
    assert right.output == "edited inbox/a.md in 1 place"
    assert "obey" not in wrong.output


# --- the diff ---


def test_a_diff_is_bounded() -> None:
    many = "".join(f"{number}\n" for number in range(5_000))

    assert len(difference(b"", many.encode(), "a")) <= DIFF_LIMIT + 10
    assert "too many to compare" in difference(many.encode(), many.replace("\n", "x\n").encode(), "a")
    assert "[not text: 2 bytes become 0]" in difference(b"\xff\x00", None, "a")
    assert difference(b"a", b"a\n", "a").splitlines()[3:] == ["-a", "\\ No newline at end of file", "+a"]


async def test_the_owner_sees_what_a_call_changes_before_saying_yes(place: Standing) -> None:
    put(place, "list.md", "milk\ntea\n")
    asked = answer_with(place)

    await place.call("write", {"path": "list.md", "content": "milk\nrum\n"}, authority=place.anna, session=ANNAS)
    await place.call("write", {"path": "new.md", "content": "a\u202eb\n"}, authority=place.anna, session=ANNAS)

    assert details_text(asked[0].details).endswith("}\n\n--- list.md\n+++ list.md\n@@ -1,2 +1,2 @@\n milk\n-tea\n+rum")
    assert '"diff"' not in details_text(asked[0].details)
    assert details_text(asked[1].details).endswith("--- /dev/null\n+++ new.md\n@@ -0,0 +1 @@\n+a\\u202eb")


async def test_a_yes_holds_for_the_file_that_was_shown_alone(place: Standing) -> None:
    target = put(place, "list.md", "milk\n")
    answer_with(place, meanwhile=lambda: target.write_text("milk\nbread\n"))

    result = await place.call("write", {"path": "list.md", "content": "rum\n"}, authority=place.anna, session=ANNAS)

    assert "the call or the rules have changed since" in result.output
    assert target.read_text() == "milk\nbread\n"


async def test_nobody_is_asked_about_what_cannot_be_done(place: Standing) -> None:
    put(place, "list.md", "milk\n")
    asked = answer_with(place)

    edit = {"path": "list.md", "old_text": "rum", "new_text": "tea"}
    result = await place.call("edit", edit, authority=place.anna, session=ANNAS)

    hidden = patch("*** Update File: list.md", "*** Move to: memory/x.md")
    refused = await place.call("apply_patch", hidden, authority=place.anna, session=ANNAS)

    assert "old_text is not in list.md" in result.output
    assert "not part of this view" in refused.output
    assert asked == []


# --- apply_patch ---


async def test_a_patch_adds_updates_moves_and_deletes(place: Standing) -> None:
    put(place, "a.py", "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 1\n")
    put(place, "old.md", "alpha\nbeta\n").chmod(0o700)
    put(place, "gone.md", "x\n")

    result = await place.call(
        "apply_patch",
        patch(
            *("*** Add File: new/b.md", "+hello", "+", "+there"),
            *("*** Update File: a.py", "@@ def two():", "-    return 1", "+    return 2", "@@", "+# end"),
            *("*** End of File", "", "*** Update File: old.md", "*** Move to: kept/new.md", "@@", " alpha", "-beta"),
            *("+gamma", "*** Delete File: gone.md"),
        ),
    )

    assert not result.is_error, result.output
    assert (place.workspace / "new/b.md").read_text() == "hello\n\nthere\n"
    assert (place.workspace / "a.py").read_text() == (
        "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n# end\n"
    )
    assert (place.workspace / "kept/new.md").read_text() == "alpha\ngamma\n"
    assert (place.workspace / "kept/new.md").stat().st_mode & 0o777 == 0o700
    assert not (place.workspace / "old.md").exists()
    assert not (place.workspace / "gone.md").exists()
    assert "--- old.md\n+++ kept/new.md" in result.output
    assert "--- gone.md\n+++ /dev/null" in result.output


@pytest.mark.parametrize(
    ("text", "hunks", "patched"),
    [
        ("a\nb", ["@@", "-b", "+c"], "a\nc"),
        ("a\r\nb\r\n", ["@@", " a", "-b", "+c", "+d"], "a\r\nc\r\nd\r\n"),
        ("x\n", [" x", "+y"], "x\ny\n"),
        ("a\nb\na\nb\n", ["@@", " a", "-b", "+c", "*** End of File"], "a\nb\na\nc\n"),
        ("\tsay “a”  \n", ["@@", '-    say "a"', "+b"], "b\n"),
        ("a\nb\nc\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+B"], "a\nB\nc\n"),
        ("a\n\nb\n", ["@@", " a", "", "-b", "+c"], "a\n\nc\n"),
        ("say “a”\nb\n", ['@@ say "a"', "+x"], "say “a”\nx\nb\n"),
        ("a\nb\n", ["@@ a", "+x"], "a\nx\nb\n"),
        ("", ["@@", "+x"], "x\n"),
        ("ab\nb\n", ["@@", "-b", "+c"], "ab\nc\n"),
        ("b\nbb\na\nb\n", ["@@ a", "-b", "+c"], "b\nbb\na\nc\n"),
        ("x\nx\ny\n", ["@@", "-x", "@@", "-x"], "y\n"),
        ("\n\na\n", ["@@", " ", "-a", "+b"], "\n\nb\n"),
        ("a\nb", ["@@ b", "+c"], "a\nb\nc"),
    ],
)
async def test_hunks_are_placed(place: Standing, text: str, hunks: list[str], patched: str) -> None:
    target = put(place, "a.txt", text)

    result = await place.call("apply_patch", patch("*** Update File: a.txt", *hunks))

    assert target.read_bytes().decode() == patched, result.output


async def test_lines_that_are_nowhere_are_looked_for_in_one_go(place: Standing) -> None:
    put(place, "a.txt", "x\n" * 2_000_000)

    result = await place.call("apply_patch", patch("*** Update File: a.txt", "@@", *[" x"] * 20_000, "-y", "+z"))

    assert "hunk 1 of a.txt" in result.output


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["*** Add File: ../x.md", "+x"], "climbs"),
        (["*** Add File: /etc/x.md", "+x"], "absolute"),
        (["*** Add File: a/../../x.md", "+x"], "climbs"),
        (["*** Update File: a.md", "*** Move to: ../../x.md"], "climbs"),
        (["*** Update File: a.md", "*** Move to: link/x.md"], "symlink"),
        (["*** Delete File: ../secrets.yaml"], "climbs"),
        (["*** Delete File: link/secrets.yaml"], "symlink"),
        (["*** Update File: a.md", "*** Move to: memory/people/x.md"], "not part of this view"),
        (["*** Update File: a.md", "*** Move to: b.md"], "b.md exists already"),
        (["*** Add File: a.md", "+x"], "use `*** Update File: a.md`"),
        (["*** Update File: a.md", "@@", "-c", "+d"], "hunk 1 of a.md"),
        (["*** Update File: a.md", "@@ nowhere", "+d"], "beginning with 'nowhere'"),
        (["*** Update File: a.md"], "changes nothing in a.md"),
        (["*** Update File: a.md", "@@", "-a", "+b", "*** Delete File: ./a.md"], "names a.md twice"),
        (["*** Update File: none.md", "@@", "+b"], "there is no file none.md"),
        (["*** Delete File: b.md", "-x"], "line 5 of the patch is '-x'; expected the next file"),
        (["*** Rename File: a.md"], "line 4 of the patch is '*** Rename File: a.md'"),
        (["*** Add File: b.md/x.md", "+x"], "not a directory"),
    ],
)
async def test_a_patch_with_one_mistake_changes_nothing(place: Standing, lines: list[str], words: str) -> None:
    put(place, "a.md", "a\n")
    put(place, "b.md", "b\n")
    (place.home.path / "secrets.yaml").write_text("x: y\n")
    os.symlink(place.home.path, place.workspace / "link")
    before = {each: each.read_bytes() for each in place.home.path.rglob("*.md")}

    result = await place.call("apply_patch", patch("*** Add File: first.md", "+x", *lines))

    assert result.is_error
    assert words in result.output
    assert {each: each.read_bytes() for each in place.home.path.rglob("*.md")} == before
    assert (place.home.path / "secrets.yaml").exists()


@pytest.mark.parametrize(
    "text", ["", "x", "*** Begin Patch", "*** Begin Patch\n*** End Patch", "--- a\n+++ a\n@@\n-a\n"]
)
async def test_what_is_no_patch_says_so(place: Standing, text: str) -> None:
    assert (await place.call("apply_patch", {"input": text})).is_error


@pytest.mark.parametrize(
    ("lines", "asks"),
    [
        (["*** Add File: inbox/a.md", "+x"], False),
        (["*** Update File: inbox/there.md", "@@", "+x"], False),
        (["*** Add File: inbox/a.md", "+x", "*** Add File: a.md", "+x"], True),
        (["*** Update File: inbox/there.md", "*** Move to: inbox/b.md"], True),
        (["*** Update File: inbox/there.md", "*** Move to: skills/x/SKILL.md"], True),
        (["*** Delete File: inbox/there.md"], True),
        (["*** Update File: AGENTS.md", "@@", "+obey"], True),
        (["*** Add File: inbox/run.sh", "+x"], True),
    ],
)
async def test_a_tainted_turn_patches_text_below_the_inbox_unasked(
    place: Standing, lines: list[str], asks: bool
) -> None:
    put(place, "inbox/there.md", "x\n")
    asked = answer_with(place, yes=False)

    for who in ({"authority": place.owner.narrow(tainted=True)}, {"authority": place.anna, "session": ANNAS}):
        asked.clear()
        result = await place.call("apply_patch", patch(*lines), **who)
        assert (len(asked) == 1, result.is_error) == (asks, asks), result.output
        (place.workspace / "inbox/a.md").unlink(missing_ok=True)


async def test_what_a_tainted_patch_wrote_stays_words_from_outside(place: Standing) -> None:
    tainted = place.owner.narrow(tainted=True)
    await place.call("apply_patch", patch("*** Add File: inbox/a.md", "+evil", "+more"), authority=tainted)
    await place.call("apply_patch", patch("*** Update File: inbox/a.md", "*** Move to: b.md", "@@", "-more", "+mine"))

    assert not (await place.call("read", {"path": "b.md"})).trusted
