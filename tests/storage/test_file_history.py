"""The history on the disk: entries by their time, bounded, and as homes have had them for months."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hub.config.history import FOLDER, ConfigHistory
from hub.security.root import Root
from hub.storage.file_history import FileHistory
from integrations.memory.notes.files.history import Records

ID = re.compile(r"\d+-[a-z]")


def test_entries_are_listed_by_the_number_they_begin_with_and_others_are_left_alone(tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "kept/here", ID, 10)
    for id in ("9-b", "100-a", "10-a"):
        history.write(id, b"x" * len(id), ".json")
    (tmp_path / "kept/here/nonsense.json").write_bytes(b"")
    (tmp_path / "kept/here/11-a.json").mkdir()

    assert [(entry.id, entry.size_bytes) for entry in history.entries(".json")] == [
        ("100-a", 5),
        ("10-a", 4),
        ("9-b", 3),
    ]
    assert history.entries(".pending") == []


def test_an_entry_is_read_rewritten_renamed_and_deleted(tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "new", ID, 10)
    history.write("1-a", b"first", ".pending")
    history.write("1-a", b"second", ".pending")

    history.rename("1-a", ".pending", ".json")

    assert history.read("1-a", 100, ".json") == b"second"
    assert history.read("1-a", 100, ".pending") is None
    history.delete("1-a", ".json")
    history.delete("1-a", ".json")
    assert history.entries(".json") == []


@pytest.mark.parametrize("id", ["../1-a", "1-a/../../x", "", "x"])
def test_no_other_file_is_read_by_an_id(tmp_path: Path, id: str) -> None:
    (tmp_path / "1-a").write_bytes(b"outside")

    assert FileHistory(tmp_path / "kept", ID, 10).read(id, 100) is None


@pytest.mark.parametrize(("entries", "size_bytes", "left"), [(2, 1_000, 2), (9, 25, 2), (9, 5, 1)])
def test_the_oldest_go_first_and_the_newest_always_stays(
    tmp_path: Path, entries: int, size_bytes: int, left: int
) -> None:
    history = FileHistory(tmp_path / "kept", ID, entries, size_bytes)
    for number in range(1, 6):
        history.write(f"{number}-a", b"0123456789")

    history.prune()

    assert [entry.id for entry in history.entries()] == ["5-a", "4-a"][:left]


def test_a_configuration_that_was_kept_months_ago_is_read(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER / "packages/lights.yaml"
    folder.mkdir(parents=True)
    for name in ("20260301T080000000001Z-0123456789ab", "20260302T080000000002Z-aaaaaaaaaaaa-page.ada_l-2"):
        (folder / name).write_bytes(name.encode())

    history = ConfigHistory(Root(tmp_path), lambda: 0.0)

    newest, oldest = history.versions("packages/lights.yaml")
    assert (newest.by, newest.time, newest.hash) == ("page.ada_l-2", "2026-03-02T08:00:00.000002+00:00", "a" * 12)
    assert (oldest.by, oldest.size_bytes) == ("", 35)
    assert history.read("packages/lights.yaml", oldest.id) == oldest.id.encode()


def test_a_change_of_memory_that_was_kept_months_ago_is_read(tmp_path: Path) -> None:
    id = "1772352000000-0123abcd"
    (tmp_path / f"{id}.json").write_text(
        f'{{"id": "{id}", "time_ms": 1772352000000, "reason": "add", "who": "ada", "summary": "added tea", "files": '
        '[{"path": "MEMORY.md", "before": null, "after": "x", "hunks": null}], "undone": false, "undoes": null}'
    )

    records = Records(tmp_path)

    assert [each.summary for each in records.newest()] == ["added tea"]
    assert records.get(id) is not None
    assert records.new_id(1) > id
