"""Files are looked for and read as they are: odd bytes, odd sizes, odd names, and while somebody writes them."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from integrations.memory.notes.index.passages import Present, ReadFile, Stamp
from integrations.memory.notes.index.scan import find, list_sources, read
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.transcripts import transcript_chunks
from integrations.memory.notes.job import FILE_LIMIT_BYTES, Source, TranscriptSource
from tests.lengths import rounds

SETTINGS = IndexSettings.from_plain({})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """One with a memory folder."""
    (tmp_path / "memory").mkdir()
    return tmp_path


def sources(workspace: Path) -> list[Source]:
    return [Source("", str(workspace))]


def only(workspace: Path) -> Present:
    (found,) = list_sources(sources(workspace)).files.values()
    return found


def test_what_is_no_memory_is_not_looked_at(workspace: Path) -> None:
    (workspace / "README.md").write_text("no memory", encoding="utf-8")
    (workspace / "memory" / "note.txt").write_text("no Markdown", encoding="utf-8")
    (workspace / "memory" / "People").mkdir()
    (workspace / "memory" / "People" / "anna.md").write_text("could be anybody's", encoding="utf-8")
    (workspace / "memory" / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "memory" / "pipe.md")
    (workspace / "memory" / "folder.md").mkdir()
    (workspace / "memory" / "a.md").write_text("memory", encoding="utf-8")

    listing = list_sources(sources(workspace))

    assert list(listing.files) == ["memory/a.md"]
    assert find(sources(workspace), "memory/link.md") is None
    assert find(sources(workspace), "memory/pipe.md") is None
    assert find(sources(workspace), "../memory/a.md") is None
    assert find(sources(workspace), "memory/a.md") == listing.files["memory/a.md"]


def test_a_workspace_that_is_not_there_is_empty_and_an_extra_path_is_told(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")

    assert list_sources([Source("", missing)]).problems == ()
    assert missing in list_sources([Source("extra/x", missing, "private")]).problems[0]


def test_a_source_that_cannot_be_looked_through_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file where a folder should be", encoding="utf-8")
    (tmp_path / "memory-file").write_text("x", encoding="utf-8")

    listing = list_sources([Source("extra/x", f"{tmp_path}/memory-file/below", "private")])

    assert listing.unread == frozenset({"extra/x"}) or listing.problems != ()


def test_bytes_that_are_no_text_do_no_harm(workspace: Path) -> None:
    (workspace / "memory" / "a.md").write_bytes(b"\xef\xbb\xbf# Title\n\nThe \xff\xfe boiler \x00 works\n")

    found = read(only(workspace), sources(workspace), SETTINGS)

    assert found is not None
    assert "boiler" in found.passages[0].chunk.text
    assert found.passages[0].chunk.title == "Title"


def test_a_file_that_is_too_large_is_left_out_with_the_reason(workspace: Path) -> None:
    (workspace / "memory" / "a.md").write_bytes(b"x" * (FILE_LIMIT_BYTES + 1))

    found = read(only(workspace), sources(workspace), SETTINGS)

    assert found is not None
    assert found.passages == ()
    assert found.problem is None
    assert str(FILE_LIMIT_BYTES) in (found.warning or "")


def test_a_file_that_is_gone_meanwhile_is_nothing(workspace: Path) -> None:
    path = workspace / "memory" / "a.md"
    path.write_text("x", encoding="utf-8")
    present = only(workspace)
    path.unlink()

    assert read(present, sources(workspace), SETTINGS) is None


def test_a_file_written_just_now_is_looked_at_again_next_time(workspace: Path) -> None:
    path = workspace / "memory" / "a.md"

    def written_and_read() -> ReadFile | None:
        path.write_text("x", encoding="utf-8")
        return read(only(workspace), sources(workspace), SETTINGS)

    # Again if this process was held up between the two.
    young = next(
        (found for found in (written_and_read() for _ in range(20)) if found and found.present.stamp.racy), None
    )
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))
    old = read(only(workspace), sources(workspace), SETTINGS)

    assert young is not None
    assert old is not None
    assert old.present.stamp == only(workspace).stamp


def test_a_file_that_is_the_same_is_not_cut_again(workspace: Path) -> None:
    (workspace / "memory" / "a.md").write_text("The boiler", encoding="utf-8")
    first = read(only(workspace), sources(workspace), SETTINGS)
    assert first is not None

    again = read(only(workspace), sources(workspace), SETTINGS, first.hash)

    assert again is not None
    assert (again.hash, again.passages) == (first.hash, ())


def test_a_file_that_changes_all_the_time_is_read_and_looked_at_again(workspace: Path) -> None:
    path = workspace / "memory" / "a.md"
    path.write_text("line\n", encoding="utf-8")
    stop = threading.Event()

    def write() -> None:
        with path.open("a", encoding="utf-8") as file:
            while not stop.is_set():
                file.write("line\n")
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = [read(only(workspace), sources(workspace), SETTINGS) for _ in range(rounds(20, 5))]
    finally:
        stop.set()
        writer.join()

    assert all(each is not None and (each.warning is not None or each.present.stamp.racy) for each in found)


def test_a_change_of_the_same_size_with_its_time_put_back_is_seen(workspace: Path) -> None:
    file = workspace / "memory" / "a.md"
    file.write_text("the code is 1234\n")
    before, times = only(workspace), (file.stat().st_atime_ns, file.stat().st_mtime_ns)

    time.sleep(0.02)  # the clock of the file system moves on
    file.write_text("the code is 4321\n")
    os.utime(file, ns=times)

    after = only(workspace)
    assert (after.stamp.mtime_ns, after.stamp.size_bytes) == (before.stamp.mtime_ns, before.stamp.size_bytes)
    assert after.stamp != before.stamp


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("钥匙在书房第二个抽屉里，门禁密码写在背面。" * 5, "gbk"),
        ("- 买牛奶\n- 交电费", "gbk"),
        ("Frau Müller", "latin-1"),
        ("護照在保險櫃裡", "big5"),
        ("열쇠는 꽃병 안에 있습니다", "euc-kr"),
        ("the key is in the drawer 钥匙", "utf-16"),
        ("Der Schlüssel hängt über der Tür, die Tür klemmt früh.", "latin-1"),
    ],
)
def test_text_in_another_encoding_is_read(workspace: Path, text: str, encoding: str) -> None:
    (workspace / "memory" / "A.MD").write_bytes(text.encode(encoding))

    found = read(only(workspace), sources(workspace), SETTINGS)

    assert found is not None
    assert found.warning is None
    assert found.passages[0].chunk.text == text


def test_what_is_no_text_at_all_is_read_with_a_warning(workspace: Path) -> None:
    (workspace / "memory" / "a.md").write_bytes(bytes(range(256)) * 80)

    found = read(only(workspace), sources(workspace), SETTINGS)

    assert found is not None
    assert found.warning is not None
    assert "save it as UTF-8" in found.warning


def test_conversations_are_found_by_their_id(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_bytes(b"")
    files = (TranscriptSource("s1", "s1.jsonl", "private"), TranscriptSource("s2", "../s1.jsonl", "private"))
    source = Source("transcripts", str(tmp_path), files=files)

    assert list(list_sources([source]).files) == ["transcripts/s1"]
    assert find([source], "transcripts/s2") is None
    assert find([source], "transcripts/s1") == Present(
        "transcripts/s1", "private", "transcripts", "s1.jsonl", _stamp(tmp_path / "s1.jsonl"), trusted=True
    )


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


@given(st.lists(st.binary(max_size=80), max_size=12))
def test_no_bytes_that_are_no_entries_make_a_passage_or_raise(lines: list[bytes]) -> None:
    assert transcript_chunks(b"\n".join(lines), SETTINGS, person=None, trusted=True) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.fixed_dictionaries({"type": st.just("message"), "id": JSON, "ts_ms": JSON, "message": JSON})))
def test_odd_entries_of_a_conversation_do_not_hide_a_good_one(entries: list[dict[str, object]]) -> None:
    good: dict[str, object] = {"type": "message", "id": "the-good-entry", "ts_ms": 1_000}
    good["message"] = {"role": "user", "content": "the boiler hums"}
    data = "\n".join(json.dumps(each) for each in (*entries, good)).encode()

    found = transcript_chunks(data, SETTINGS, person=None, trusted=True)

    assert any("the boiler hums" in each.text for each in found)
