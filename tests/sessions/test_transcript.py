"""Transcripts: what is appended is there, once, in order, and is read again."""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from hub.core.errors import InvalidRequest, Unavailable
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
from hub.sessions.entry import EntryType, Provenance, TranscriptEntry, event_entry, message_entry
from hub.sessions.repair import INTERRUPTED
from hub.sessions.transcript import Transcript

KEY = "agent:main:main"


def opened(path: Path) -> Transcript:
    return Transcript.open(path, session_id="s1", key=KEY)


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCallBlock(id, "ls", {"path": "."}) for id in ids))


async def test_what_was_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    transcript = opened(path)
    every_field = TranscriptEntry(
        EntryType.MESSAGE,
        1_700_000_000_123,
        message=Message(
            Role.ASSISTANT,
            (TextBlock("hi"), Thinking("hm", "sig"), ToolCallBlock("c", "ls", {"a": [1]}), Image("image/png", "AAAA")),
        ),
        run_id="r",
        inbox_id="i",
        usage=Usage(1, 2, 3, 4, 0.5),
        model="p/m",
        provenance=Provenance(trusted=False, who="web"),
    )
    await transcript.append([message_entry(user_message("hello"), 1), every_field, event_entry("aborted", 2)])
    transcript.close()

    again = opened(path)

    assert again.entries() == transcript.entries()
    assert [entry.type for entry in again.entries()] == ["message", "message", "event"]
    assert again.set_aside is None


async def test_the_first_line_names_the_session(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    await opened(path).append(message_entry(user_message("x"), 1))

    first = orjson.loads(path.read_bytes().split(b"\n")[0])

    assert first == {"type": "header", "version": 1, "session_id": "s1", "key": KEY}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_entries_hang_behind_each_other(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")

    stored = await transcript.append([message_entry(user_message(str(n)), n) for n in range(3)])

    assert [entry.parent_id for entry in stored] == [None, stored[0].id, stored[1].id]


async def test_a_line_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    await opened(path).append(message_entry(user_message("hello"), 1))

    assert [entry.message for entry in opened(path).entries()] == [user_message("hello")]


async def test_an_id_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    transcript = opened(path)
    entry = message_entry(user_message("once"), 1, id="e1")
    first = await transcript.append(entry)
    size = path.stat().st_size

    again = await transcript.append([entry, entry])
    reopened = await opened(path).append(entry)

    assert again == [first[0], first[0]]
    assert reopened == first
    assert path.stat().st_size == size


async def test_an_entry_behind_an_older_one_makes_a_branch(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")
    root, _, _ = await transcript.append([message_entry(user_message(word), 1) for word in ("root", "old", "older")])
    assert [message.text for message in transcript.messages()] == ["root", "old", "older"]

    await transcript.append(message_entry(user_message("new"), 2, parent_id=root.id))
    await transcript.append(message_entry(user_message("newer"), 3))

    assert [message.text for message in transcript.messages()] == ["root", "new", "newer"]
    assert [message.text for message in opened(tmp_path / "s1.jsonl").messages()] == ["root", "new", "newer"]
    assert len(transcript.entries()) == 5


async def test_a_parent_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"

    with pytest.raises(InvalidRequest, match="nobody"):
        await opened(path).append(message_entry(user_message("x"), 1, parent_id="nobody"))

    assert not path.exists()


async def test_messages_grow_with_the_transcript(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")
    first = calls("a", "b")
    said = [user_message("hi"), first, tool_result(first.tool_calls[0], "1"), tool_result(first.tool_calls[1], "2")]

    seen = []
    for message in said:
        await transcript.append(message_entry(message, 1))
        seen.append(transcript.messages())

    assert seen[-1] == said
    assert [len(each) for each in seen] == [1, 4, 4, 4]
    assert [message.text for message in seen[1]] == ["hi", "", INTERRUPTED, INTERRUPTED]


async def test_events_are_not_sent_to_a_model(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")

    await transcript.append([event_entry("began", 1), message_entry(user_message("hi"), 2)])

    assert transcript.messages() == [user_message("hi")]


async def test_repair_gives_every_call_a_result_on_disk_once(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    transcript = opened(path)
    message = calls("a", "b", "b")
    await transcript.append([message_entry(user_message("go"), 1), message_entry(message, 2, run_id="r1")])
    await transcript.append(message_entry(tool_result(message.tool_calls[1], "ok"), 3))
    assert [call.id for call in transcript.pending_tool_calls()] == ["a", "b"]

    written = await transcript.repair(ts_ms=9)
    again = await opened(path).repair(ts_ms=10)

    assert [entry.message.tool_call_id for entry in written if entry.message] == ["a", "b"]
    assert {entry.run_id for entry in written} == {"r1"}
    assert again == []
    assert opened(path).pending_tool_calls() == []
    assert [each.text for each in transcript.messages()] == ["go", "", INTERRUPTED, "ok", INTERRUPTED]


async def test_repair_of_calls_that_share_an_id_with_later_ones_ends(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")
    await transcript.append([message_entry(calls("c0"), 1), message_entry(user_message("again"), 2)])
    await transcript.append(
        [message_entry(calls("c0"), 3), message_entry(tool_result(ToolCallBlock("c0", "ls"), ""), 4)]
    )

    first = await transcript.repair(ts_ms=5)
    second = await transcript.repair(ts_ms=6)

    assert len(first) == 1
    assert second == []


async def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    transcript = Transcript.open(path, session_id="s1", key=KEY, redact=lambda text: text.replace("hunter2", "***"))
    message = Message(
        Role.ASSISTANT,
        (
            TextBlock("it is hunter2"),
            Thinking("hunter2?", "signed"),
            ToolCallBlock("c", "login", {"deep": ["hunter2", {"x": "hunter2"}]}, malformed="{hunter2"),
        ),
    )

    (stored,) = await transcript.append(message_entry(message, 1))

    assert b"hunter2" not in path.read_bytes()
    assert stored.message is not None
    assert stored.message.content[1] == Thinking("***?")
    assert opened(path).messages()[0] == stored.message


async def test_what_json_cannot_hold_is_stored_as_text(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"in": deep}
    arguments = {"huge": 2**70, "broken": "\ud800", "deep": deep}

    await opened(path).append(message_entry(Message(Role.ASSISTANT, (ToolCallBlock("c", "t", arguments),)), 1))

    (entry,) = opened(path).entries()
    assert entry.message is not None
    assert entry.message.tool_calls[0].arguments["huge"] == str(2**70)


async def test_a_closed_transcript_takes_entries_again(tmp_path: Path) -> None:
    transcript = opened(tmp_path / "s1.jsonl")
    await transcript.append(message_entry(user_message("one"), 1))
    transcript.close()

    await transcript.append(message_entry(user_message("two"), 2), sync=True)

    assert [message.text for message in opened(tmp_path / "s1.jsonl").messages()] == ["one", "two"]


async def test_a_full_disk_leaves_whole_lines_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    transcript = opened(path)
    await transcript.append(message_entry(user_message("before"), 1))

    with _files_bounded_to(path.stat().st_size + 100), pytest.raises(Unavailable, match=os.strerror(errno.EFBIG)):
        await transcript.append(message_entry(user_message("x" * 10_000), 2))
    await transcript.append(message_entry(user_message("after"), 3))

    again = opened(path)
    assert [message.text for message in again.messages()] == ["before", "after"]
    assert [message.text for message in transcript.messages()] == ["before", "after"]
    assert again.set_aside is None


@contextmanager
def _files_bounded_to(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as a full disk would."""
    import signal

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
