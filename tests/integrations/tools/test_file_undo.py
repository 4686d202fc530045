"""Taking back what the tools changed: a person's word, while nobody changed the files since."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.core.context import Context
from hub.sessions.store import EVENT_SESSION_CHANGED
from integrations.tools import files
from integrations.tools.files.changes import FileState
from integrations.tools.files.undoing import UndoStore
from tests.integrations.tools.standing import ANNAS, GROUP, MAIN, Standing
from tests.until import until

NOTHING = "There is nothing to take back: no file was changed in this conversation, or only long ago."


@pytest.fixture
async def place(standing: Standing) -> Standing:
    await standing.set_up(files)
    standing.workspaces.ensure("main")
    return standing


def kept(place: Standing) -> list[Path]:
    return sorted((place.home.storage / "integrations/test/undo").glob("*"))


async def test_changes_are_taken_back_one_after_the_other(place: Standing) -> None:
    target = place.workspace / "a/list.md"
    await place.call("write", {"path": "a/list.md", "content": "milk\n"})
    target.chmod(0o700)
    await place.call("edit", {"path": "a/list.md", "old_text": "milk", "new_text": "tea"})

    first = await place.command("/undo")
    after_first = target.read_text()
    second = await place.command("/undo")

    assert (first.text, first.menu) == ("Taken back: a/list.md", (("Take back the one before", "/undo"),))
    assert after_first == "milk\n"
    assert (second.text, second.menu) == ("Taken back: a/list.md", ())
    assert not target.exists()
    assert (await place.command("/undo")).text == NOTHING
    assert kept(place) == []


async def test_a_patch_is_taken_back_whole(place: Standing) -> None:
    for name, text in (("old.md", "a\n"), ("gone.bin", "x"), ("kept.md", "k\n")):
        (place.workspace / name).write_text(text)
    (place.workspace / "gone.bin").write_bytes(b"\xff\x00")
    (place.workspace / "old.md").chmod(0o755)
    before = {
        each.name: (each.read_bytes(), each.stat().st_mode) for each in place.workspace.iterdir() if each.is_file()
    }

    lines = [
        *("*** Begin Patch", "*** Update File: old.md", "*** Move to: b/new.md", "@@", "-a", "+b"),
        *("*** Delete File: gone.bin", "*** Update File: kept.md", "@@", "+k2", "*** Add File: c.md", "+c"),
    ]
    patched = await place.call("apply_patch", {"input": "\n".join([*lines, "*** End Patch"])})
    answer = await place.command("/undo")

    assert not patched.is_error, patched.output
    assert answer.text == "Taken back: c.md, kept.md, gone.bin, old.md, b/new.md"
    after = {
        each.name: (each.read_bytes(), each.stat().st_mode) for each in place.workspace.iterdir() if each.is_file()
    }
    assert after == before
    assert not (place.workspace / "b/new.md").exists()


@pytest.mark.parametrize("changed", ["two.md", "one.md"])
async def test_nothing_is_taken_back_once_a_file_was_changed_since(place: Standing, changed: str) -> None:
    patch = "*** Begin Patch\n*** Add File: one.md\n+1\n*** Add File: two.md\n+2\n*** End Patch"
    await place.call("apply_patch", {"input": patch})
    (place.workspace / changed).write_text("mine\n")

    assert (await place.command("/undo")).text == f"{changed} was changed since, so nothing was taken back."
    assert len(list(place.workspace.glob("*o*.md"))) >= 2
    assert (place.workspace / changed).read_text() == "mine\n"


async def test_a_conversation_takes_back_its_own_changes_alone(place: Standing) -> None:
    await place.call("write", {"path": "inbox/a.md", "content": "x"}, authority=place.anna, session=ANNAS)

    assert (await place.command("/undo")).text == NOTHING
    assert (await place.command("/undo", authority=place.anna, session=GROUP)).text == NOTHING
    stranger = await place.command("/undo", authority=place.stranger, session=ANNAS)
    assert (place.workspace / "inbox/a.md").exists(), stranger
    assert (await place.command("/undo", authority=place.anna, session=ANNAS)).text == "Taken back: inbox/a.md"
    assert not (place.workspace / "inbox/a.md").exists()


async def test_a_change_that_failed_is_not_kept(place: Standing) -> None:
    (place.workspace / "file").write_text("")

    failed = await place.call("write", {"path": "file/a.md", "content": "x"})

    assert failed.is_error
    assert kept(place) == []


async def test_memory_and_deleted_conversations_leave_nothing(place: Standing) -> None:
    await place.call("write", {"path": "MEMORY.md", "content": "canary"})
    await place.call("write", {"path": "memory/2026-05-12.md", "content": "canary"})
    assert kept(place) == []
    await place.call("write", {"path": "a.md", "content": "x"})
    await place.call("write", {"path": "inbox/a.md", "content": "x"}, authority=place.anna, session=ANNAS)
    assert len(kept(place)) == 2

    place.bus.fire(EVENT_SESSION_CHANGED, {"key": MAIN, "what": "reset"}, Context(place.owner))
    place.bus.fire(EVENT_SESSION_CHANGED, {"key": ANNAS, "what": "deleted"}, Context(place.owner))
    await until(lambda: len(kept(place)) < 2)

    assert (await place.command("/undo")).text == "Taken back: a.md"


async def test_what_was_kept_before_a_crash_is_passed_over(place: Standing) -> None:
    await place.call("write", {"path": "a.md", "content": "x"})
    store = UndoStore(place.home.storage / "integrations/test/undo")
    store.keep(MAIN, [FileState("b.md", None, b"never written", 0o600)])

    assert (await place.command("/undo")).text == "Taken back: a.md"
    assert kept(place) == []


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    store = UndoStore(tmp_path / "undo", limit=5, limit_bytes=10_000)
    for number in range(9):
        store.keep(f"s{number % 2}", [FileState(f"{number}.md", None, b"", 0o600)])

    assert (store.count("s0"), store.count("s1")) == (3, 2)
    assert min(each.name for each in (tmp_path / "undo").iterdir()).startswith("000000000004-")
    for _ in range(3):
        store.keep("big", [FileState("a", bytes(4_500), b"", 0o600)])
    assert (store.count("s0"), store.count("s1"), store.count("big")) == (0, 0, 2)
