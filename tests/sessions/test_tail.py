"""The end of a transcript, read without the rest of it; and lines read the quick way."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from hub.models.contract import (
    Image,
    Message,
    Role,
    TextBlock,
    Thinking,
    ToolCallBlock,
    Usage,
    tool_result,
    user_message,
)
from hub.sessions.entry import (
    EntryType,
    Header,
    Provenance,
    TranscriptEntry,
    encode_line,
    event_entry,
    message_entry,
    read_entry,
)
from hub.sessions.tail import read_tail
from hub.sessions.transcript import Transcript

HEADER = encode_line(Header("s1", "agent:main:main").as_dict())
CALL = ToolCallBlock("c1", "ls", {"path": ".", "deep": [1, 2.5, None, {"a": "ü"}]})
ENTRIES = (
    message_entry(user_message("what is in here? 这里有什么?"), 1, id="a", inbox_id="i", data={"channel": "test"}),
    message_entry(
        Message(Role.ASSISTANT, (Thinking("hm", "signed"), Thinking("hm"), TextBlock("I look"), CALL)),
        2,
        id="b",
        parent_id="a",
        run_id="r",
        usage=Usage(1, 2, 3, 4, 0.5),
        model="test/model",
        provenance=Provenance(False, "model", True),
    ),
    message_entry(tool_result(CALL, "a\nb", is_error=True), 3, id="c", parent_id="b"),
    message_entry(Message(Role.USER, (Image("image/png", "AAAA"),)), 4, id="d", parent_id="c"),
    message_entry(Message(Role.ASSISTANT, (ToolCallBlock("c2", "ls", malformed='{"p'),)), 5, id="e", usage=Usage(1)),
    event_entry("run_ended", 6, {"status": "aborted"}, id="f", parent_id="e"),
)
LINES = [encode_line(each.as_dict()).rstrip() for each in ENTRIES]
SPOILS = st.sampled_from(
    [
        *(b'"', b"}", b"{", b",", b"1", b"1.0", b"true", b"null", b"[]", b"{}", b'"x"', b'""', b'"extra":1,', b"\xff"),
        *(b"\\ud800", b'"type":"text"', b'"type":"video"', b'"message"', b'"event"', b'"trusted":', b"-1", b"1e400"),
    ]
)


def slowly(line: bytes) -> TranscriptEntry | None:
    try:
        return TranscriptEntry.from_dict(orjson.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


@pytest.mark.parametrize("line", LINES)
def test_every_line_that_is_written_is_read_the_quick_way(line: bytes) -> None:
    assert read_entry(line) == slowly(line) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"provenance": None},
        {"provenance": {"trusted": True}},
        {"provenance": {"trusted": 1, "who": "", "derived": False}},
        {"id": ""},
        {"ts_ms": 1.0},
        {"message": None},
        {"message": {"role": "user", "content": "plain"}},
        {"message": {"role": "user", "content": [{"type": "video"}]}},
        {"type": "event"},
        {"later": 1},
    ],
)
def test_a_line_of_another_form_is_left_to_who_reads_it_with_care(changed: dict[str, Any]) -> None:
    assert read_entry(orjson.dumps({**ENTRIES[0].as_dict(), **changed})) is None


@given(st.sampled_from(LINES), st.integers(0, 400), st.integers(0, 12), SPOILS | st.binary(max_size=2))
def test_however_a_line_is_spoilt_both_ways_of_reading_it_agree(line: bytes, at: int, gone: int, put: bytes) -> None:
    spoilt = line[:at] + put + line[at + gone :]

    quick = read_entry(spoilt)

    assert quick is None or quick == slowly(spoilt)


Trees = st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 100)), min_size=20, max_size=40)


@given(Trees, st.integers(1, 4), st.integers(300, 1_500))
async def test_the_tail_is_the_end_of_what_opening_it_shows(
    tree: list[tuple[bool, int, int]], count: int, taken: int
) -> None:
    lines, ids = [HEADER], list[str]()
    for number, (is_said, back, size) in enumerate(tree):
        parent = ids[-1 - min(back // 4 * back, len(ids) - 1)] if ids else None
        make: Any = {"id": f"e{number}", "parent_id": parent}
        entry = message_entry(user_message("x" * size), number, **make) if is_said else event_entry("e", number, **make)
        lines.append(encode_line(entry.as_dict()))
        ids.append(entry.id)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.write_bytes(b"".join(lines))

        found = read_tail(path, count, taken)

        said = [entry for entry in Transcript.open(path).branch() if entry.type is EntryType.MESSAGE]
        assert found is None or found == said[-count:]


@pytest.mark.parametrize("end", [b'{"id": "torn', b"nonsense\n", encode_line({"type": "wave", "id": "x"})])
def test_of_a_damaged_end_only_opening_can_tell(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "s1.jsonl"
    whole = HEADER + b"".join(encode_line(message_entry(user_message("x" * 90), at).as_dict()) for at in range(50))
    path.write_bytes(whole + end)

    assert read_tail(path, 3, 2_000) is None
    path.write_bytes(whole)
    assert read_tail(path, 1, 2_000) is not None
