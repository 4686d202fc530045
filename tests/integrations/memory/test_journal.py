"""Damage: a full disk, a process that is killed, records that are broken. Files are whole, and all or none changed."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hub.core.errors import HubError, Unavailable
from hub.memory.contract import Forget
from hub.memory.notebook import Edit
from hub.security.root import Root
from integrations.memory.notes.files.history import FileChange, Record, Records
from integrations.memory.notes.files.memory_files import Draft, MemoryFiles, hash_of
from integrations.memory.notes.files.patches import hunks_between
from tests.integrations.memory.notes_house import OWNER, TODAY, Notes

BIG = "".join(f"- line {number} of a long day\n" for number in range(400))


@contextmanager
def no_file_over(size_bytes: int) -> Iterator[None]:
    """Let the system refuse to write beyond a size, as it does when the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_disk_that_is_full_in_the_middle_leaves_the_files_whole(notes: Notes) -> None:
    notes.write(TODAY, BIG)
    notes.write("memory/a.md", "- a\n")
    base = (await notes.notebook.read("memory/a.md", agent_id="main", scope=OWNER)).hash
    before = notes.files()

    with no_file_over(6_000):
        with pytest.raises(Unavailable, match="cannot be read or written"):
            await notes.put("one more")
        with pytest.raises(HubError):
            await notes.edit(Edit("memory/a.md", "- b\n", base), Edit("memory/big.md", BIG, None))
        with pytest.raises(HubError):
            await notes.remove(Forget("line 7"))

    assert notes.files() == before
    assert [path.suffix for path in notes.history.glob("*.pending")] == []
    await notes.put("one more")
    assert notes.read(TODAY).startswith(BIG)


async def test_a_disk_that_has_no_room_for_the_record_changes_nothing(notes: Notes) -> None:
    notes.write("memory/a.md", BIG)
    before = notes.files()

    with no_file_over(6_000), pytest.raises(HubError):
        await notes.rewrite("memory/a.md", "- new\n")

    assert notes.files() == before
    assert notes.kept() == ""


def half_done(notes: Notes) -> Record:
    """Stop a change of three files after the first, as a power cut does."""
    history = Records(notes.history)
    texts = {"memory/a.md": ("a\n", "A\n"), "memory/b.md": ("b\n", None), "memory/c.md": (None, "c\n")}
    files = tuple(
        FileChange(path, hash_of(old), hash_of(new), hunks_between(old or "", new or ""))
        for path, (old, new) in texts.items()
    )
    record = Record(history.new_id(1), 1, "edit", "me", "half", files)
    history.begin(record)
    for path, (old, _) in texts.items():
        if old is not None:
            notes.write(path, old)
    notes.write("memory/a.md", "A\n")
    notes.write("memory/c.md", "c\n")
    notes.write(f"memory/.homarus-{record.id}-1.new", "half a te")
    return record


async def test_what_was_cut_off_is_taken_back_before_the_next_change(notes: Notes) -> None:
    half_done(notes)

    await notes.put("tea")

    assert {path: text for path, text in notes.files().items() if path != TODAY} == {
        "memory/a.md": b"a\n", "memory/b.md": b"b\n"
    }  # fmt: skip
    assert [each.reason for each in await notes.notebook.changes(agent_id="main", scope=OWNER)] == ["add"]
    assert list(notes.history.glob("*.pending")) == []


async def test_what_somebody_wrote_after_it_was_cut_off_stays(notes: Notes) -> None:
    half_done(notes)
    notes.write("memory/a.md", "mine\n")

    await notes.memory.sync(agent_id="main")

    assert notes.files() == {"memory/a.md": b"mine\n", "memory/b.md": b"b\n"}


async def test_a_change_that_was_finished_but_for_its_name_is_taken_back_whole(notes: Notes) -> None:
    id = await notes.edit(Edit("memory/a.md", "a\n", None), Edit("memory/b.md", "b\n", None))
    (notes.history / f"{id}.json").rename(notes.history / f"{id}.pending")

    await Notes(notes.folder.parent).memory.sync(agent_id="main")

    assert notes.files() == {}


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'{"id": 1}', b"\xff\xfe", b'{"files": [{}]}', b"[" * 9_000]
)
async def test_a_broken_record_hides_no_other(notes: Notes, data: bytes) -> None:
    await notes.put("tea")
    (notes.history / "9999999999998-00000000.json").write_bytes(data)
    (notes.history / "9999999999999-00000000.pending").write_bytes(data)
    (notes.history / "nonsense.json").write_bytes(data)

    await notes.put("coffee")
    await notes.remove(Forget("tea"))

    changes = await notes.notebook.changes(agent_id="main", scope=OWNER)
    assert [each.reason for each in changes] == ["forget", "add", "add"]


KILLED = """
import asyncio, sys
from pathlib import Path
from hub.memory.notebook import (Edit)
from tests.integrations.memory.notes_house import OWNER, Notes

async def main():
    notes = Notes(Path(sys.argv[1]))
    number = int(sys.argv[2])
    while True:
        number += 1
        edits = []
        for name in ("a", "b", "c"):
            try:
                base = (await notes.notebook.read(f"memory/{name}.md", agent_id="main", scope=OWNER)).hash
            except Exception:
                base = None
            edits.append(Edit(f"memory/{name}.md", f"- {number}\\n" * 50, base))
        await notes.edit(*edits)
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_process_that_is_killed_has_changed_all_of_the_files_or_none(tmp_path: Path) -> None:
    number = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path), str(number)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(3):
            number = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
        process.stdout.close()

        notes = Notes(tmp_path)
        asyncio.run(notes.memory.sync(agent_id="main"))

        texts = {notes.read(f"memory/{name}.md") for name in ("a", "b", "c")}
        assert len(texts) == 1
        assert texts.pop().count("\n") == 50
        assert sorted(path for path in notes.files() if not path.endswith(".md")) == []


def test_files_that_changed_while_they_were_written_are_left_alone(tmp_path: Path) -> None:
    shelf = MemoryFiles(Root(tmp_path))
    (tmp_path / "MEMORY.md").write_text("mine\n")

    with pytest.raises(Exception, match=r"MEMORY\.md"):
        shelf.replace([Draft("memory/a.md", None, "a\n"), Draft("MEMORY.md", "old\n", "new\n")], "x")

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["MEMORY.md"]
    assert (tmp_path / "MEMORY.md").read_text() == "mine\n"


def test_permissions_of_a_file_stay(tmp_path: Path) -> None:
    shelf = MemoryFiles(Root(tmp_path))
    (tmp_path / "MEMORY.md").write_text("old\n")
    (tmp_path / "MEMORY.md").chmod(0o640)

    shelf.replace([Draft("MEMORY.md", "old\n", "new\n"), Draft("memory/a.md", None, "a\n")], "x")

    assert [oct((tmp_path / name).stat().st_mode & 0o777) for name in ("MEMORY.md", "memory/a.md")] == [
        "0o640",
        "0o600",
    ]
