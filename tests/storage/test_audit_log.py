"""The audit log as a file: what was done to it is found, and what a crash does to it is not called tampering."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.storage.audit_log import NO_HEAD, AuditLog, Head, hash_of, keep_restored, segments, verify


def entries(count: int, first: int = 0) -> deque[dict[str, Any]]:
    return deque(
        {"at": "2026-11-29T12:00:00.000+00:00", "who": "owner", "what": f"did.{number}", "about": {}, "outcome": "ok"}
        for number in range(first, first + count)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "audit"


@pytest.fixture
def head(folder: Path) -> Head:
    """Ten entries, and the last of them as the hub database knows it."""
    return AuditLog(folder).append(entries(10))


def lines(folder: Path) -> list[bytes]:
    return segments(folder)[0].read_bytes().splitlines()


def write(folder: Path, kept: list[bytes]) -> None:
    segments(folder)[0].write_bytes(b"".join(each + b"\n" for each in kept))


def rehashed(line: bytes, **changed: Any) -> bytes:
    """A line with other words and the hash that fits them."""
    entry = json.loads(line) | changed
    return orjson.dumps(entry | {"hash": hash_of(entry)})


def test_a_log_as_it_was_written_is_whole(folder: Path, head: Head) -> None:
    found = verify(folder, head)

    assert (found.entries, found.problems, found.unfinished) == (10, [], False)
    assert [each["what"] for each in AuditLog(folder).latest(2, before=10)] == ["did.8", "did.7"]


def test_a_log_goes_on_where_it_was(folder: Path, head: Head) -> None:
    later = AuditLog(folder).append(entries(1, 10))

    assert later.seq == 11
    assert verify(folder, later).problems == []


def test_a_changed_line_in_the_middle_is_found(folder: Path, head: Head) -> None:
    kept = lines(folder)
    kept[4] = kept[4].replace(b"did.4", b"did.5")
    write(folder, kept)

    assert verify(folder, head).problems == ["0000000001.jsonl:5: entry 5 was changed: its hash does not fit its words"]


def test_a_changed_line_with_a_new_hash_is_found(folder: Path, head: Head) -> None:
    kept = lines(folder)
    kept[4] = rehashed(kept[4], who="somebody else")
    write(folder, kept)

    assert any("entry 6 does not follow entry 5" in each for each in verify(folder, head).problems)


def test_a_log_that_was_written_anew_from_some_line_on_is_found(folder: Path, head: Head) -> None:
    write(folder, lines(folder)[:5])
    AuditLog(folder).append(entries(5, 50))

    [problem] = verify(folder, head).problems
    assert "the log was written anew" in problem


@pytest.mark.parametrize("left", [9, 5, 0])
def test_a_cut_end_is_found(folder: Path, head: Head, left: int) -> None:
    write(folder, lines(folder)[:left])

    assert any("the end is cut off" in each for each in verify(folder, head).problems)


def test_a_deleted_log_is_found(folder: Path, head: Head) -> None:
    segments(folder)[0].unlink()

    assert verify(folder, head).problems == [
        "the end is cut off: the last entry is 0, and the hub database knows of 10"
    ]


def test_moved_removed_and_added_lines_are_found(folder: Path, head: Head) -> None:
    whole = lines(folder)
    for kept in (
        [*whole[:3], whole[4], whole[3], *whole[5:]],
        [*whole[:3], *whole[4:]],
        [*whole[:3], whole[2], *whole[3:]],
        [*whole[:3], b"{}", *whole[3:]],
        whole[1:],
    ):
        write(folder, kept)
        assert verify(folder, head).problems, kept


def test_a_line_that_a_crash_left_unfinished_is_no_tampering_and_is_cut_off(folder: Path, head: Head) -> None:
    file = segments(folder)[0]
    whole = file.read_bytes()
    AuditLog(folder).append(entries(1, 10))
    last = file.read_bytes()[len(whole) :]
    for length in (1, 2, len(last) // 2, len(last) - 2, len(last) - 1):
        file.write_bytes(whole + last[:length])

        found = verify(folder, head)
        assert found.problems == [], length
        assert found.unfinished == (length < len(last) - 1)
        later = AuditLog(folder).append(entries(1, 20))
        assert verify(folder, later).problems == [], length


def test_old_segments_are_deleted_in_time_and_only_so(folder: Path) -> None:
    head = AuditLog(folder, segment_bytes=500, segments_kept=3).append(entries(40))

    found = verify(folder, head)

    assert len(segments(folder)) <= 4
    assert found.problems == []
    assert found.entries < 40
    segments(folder)[0].unlink()
    assert "no entry says why" in verify(folder, head).problems[0]


def test_without_the_last_hash_the_end_is_not_vouched_for(folder: Path, head: Head) -> None:
    assert verify(folder, None).problems == [NO_HEAD]


def test_the_log_of_another_home_is_kept_beside_and_verified_too(folder: Path, head: Head, tmp_path: Path) -> None:
    other, same = tmp_path / "other", tmp_path / "same"
    AuditLog(other).append(entries(3, 100))
    AuditLog(same).append(entries(4))

    keep_restored(folder, same, "1")
    keep_restored(folder, other, "2")

    assert [each.name for each in sorted(folder.iterdir())] == ["0000000001.jsonl", "restored-2"]
    assert (verify(folder, head).entries, verify(folder, head).problems) == (13, [])
    inner = segments(folder / "restored-2")[0]
    inner.write_bytes(inner.read_bytes().replace(b"did.101", b"did.999"))
    assert verify(folder, head).problems[0].startswith("restored-2/0000000001.jsonl:2:")
