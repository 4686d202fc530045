"""Transcripts: what is appended is there, once, in order, and is read again."""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import orjson
import pytest

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.sql import SqlConnection
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
from hub.sessions.entry import EntryType, Header, Provenance, TranscriptEntry, event_entry, message_entry
from hub.sessions.repair import INTERRUPTED
from hub.sessions.transcript import Redact, Transcript
from hub.sessions.transcript_file import NewerTranscript
from hub.sessions.transcript_store import TranscriptStore
from hub.storage.database import Database
from hub.storage.errors import QueryFailed
from hub.storage.homedir import Home
from tests.databases import rows_of
from tests.transcripts import FILES, TABLE

KEY = "agent:main:main"


Open = Callable[..., Awaitable[Transcript]]


@pytest.fixture
def opened(transcripts: TranscriptStore) -> Open:
    """Opens the transcript anew, as a fresh hub would."""

    async def open_it(redact: Redact | None = None) -> Transcript:
        return await transcripts.open("main", Header("s1", KEY), redact)

    return open_it


@pytest.fixture
def path(home: Home) -> Path:
    """Where it is when it is a file."""
    return home.sessions("main") / "s1.jsonl"


def size_of(path: Path) -> int:
    return path.stat().st_size


def first_line(path: Path) -> tuple[object, int]:
    """Return the first line of a file, and who may read it."""
    return orjson.loads(path.read_bytes().split(b"\n")[0]), stat.S_IMODE(path.stat().st_mode)


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCallBlock(id, "ls", {"path": "."}) for id in ids))


async def test_what_was_appended_is_read_again(opened: Open) -> None:
    transcript = await opened()
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

    again = await opened()

    assert again.entries() == transcript.entries()
    assert [entry.type for entry in again.entries()] == ["message", "message", "event"]
    assert again.set_aside is None


@FILES
async def test_the_first_line_names_the_session(opened: Open, path: Path) -> None:
    await (await opened()).append(message_entry(user_message("x"), 1))

    first, mode = first_line(path)

    assert first == {"type": "header", "version": 1, "session_id": "s1", "key": KEY}
    assert mode == 0o600


async def test_entries_hang_behind_each_other(opened: Open) -> None:
    transcript = await opened()

    stored = await transcript.append([message_entry(user_message(str(n)), n) for n in range(3)])

    assert [entry.parent_id for entry in stored] == [None, stored[0].id, stored[1].id]


async def test_a_line_is_in_the_file_when_append_returns(opened: Open) -> None:
    await (await opened()).append(message_entry(user_message("hello"), 1))

    assert [entry.message for entry in (await opened()).entries()] == [user_message("hello")]


@FILES
async def test_an_id_is_written_once(opened: Open, path: Path) -> None:
    transcript = await opened()
    entry = message_entry(user_message("once"), 1, id="e1")
    first = await transcript.append(entry)
    size = size_of(path)

    again = await transcript.append([entry, entry])
    reopened = await (await opened()).append(entry)

    assert again == [first[0], first[0]]
    assert reopened == first
    assert size_of(path) == size


async def test_an_entry_behind_an_older_one_makes_a_branch(opened: Open) -> None:
    transcript = await opened()
    root, _, _ = await transcript.append([message_entry(user_message(word), 1) for word in ("root", "old", "older")])
    assert [message.text for message in transcript.messages()] == ["root", "old", "older"]

    await transcript.append(message_entry(user_message("new"), 2, parent_id=root.id))
    await transcript.append(message_entry(user_message("newer"), 3))

    assert [message.text for message in transcript.messages()] == ["root", "new", "newer"]
    assert [message.text for message in (await opened()).messages()] == ["root", "new", "newer"]
    assert len(transcript.entries()) == 5


async def test_a_parent_that_is_not_there_is_refused(opened: Open) -> None:

    with pytest.raises(InvalidRequest, match="nobody"):
        await (await opened()).append(message_entry(user_message("x"), 1, parent_id="nobody"))

    assert (await opened()).entries() == []


async def test_messages_grow_with_the_transcript(opened: Open) -> None:
    transcript = await opened()
    first = calls("a", "b")
    said = [user_message("hi"), first, tool_result(first.tool_calls[0], "1"), tool_result(first.tool_calls[1], "2")]

    seen = []
    for message in said:
        await transcript.append(message_entry(message, 1))
        seen.append(transcript.messages())

    assert seen[-1] == said
    assert [len(each) for each in seen] == [1, 4, 4, 4]
    assert [message.text for message in seen[1]] == ["hi", "", INTERRUPTED, INTERRUPTED]


async def test_events_are_not_sent_to_a_model(opened: Open) -> None:
    transcript = await opened()

    await transcript.append([event_entry("began", 1), message_entry(user_message("hi"), 2)])

    assert transcript.messages() == [user_message("hi")]


async def test_repair_gives_every_call_a_result_on_disk_once(opened: Open) -> None:
    transcript = await opened()
    message = calls("a", "b", "b")
    await transcript.append([message_entry(user_message("go"), 1), message_entry(message, 2, run_id="r1")])
    await transcript.append(message_entry(tool_result(message.tool_calls[1], "ok"), 3))
    assert [call.id for call in transcript.pending_tool_calls()] == ["a", "b"]

    written = await transcript.repair(ts_ms=9)
    again = await (await opened()).repair(ts_ms=10)

    assert [entry.message.tool_call_id for entry in written if entry.message] == ["a", "b"]
    assert {entry.run_id for entry in written} == {"r1"}
    assert again == []
    assert (await opened()).pending_tool_calls() == []
    assert [each.text for each in transcript.messages()] == ["go", "", INTERRUPTED, "ok", INTERRUPTED]


async def test_repair_of_calls_that_share_an_id_with_later_ones_ends(opened: Open) -> None:
    transcript = await opened()
    await transcript.append([message_entry(calls("c0"), 1), message_entry(user_message("again"), 2)])
    await transcript.append(
        [message_entry(calls("c0"), 3), message_entry(tool_result(ToolCallBlock("c0", "ls"), ""), 4)]
    )

    first = await transcript.repair(ts_ms=5)
    second = await transcript.repair(ts_ms=6)

    assert len(first) == 1
    assert second == []


async def test_secrets_do_not_reach_the_disk(opened: Open, home: Home) -> None:
    transcript = await opened(lambda text: text.replace("hunter2", "***"))
    message = Message(
        Role.ASSISTANT,
        (
            TextBlock("it is hunter2"),
            Thinking("hunter2?", "signed"),
            ToolCallBlock("c", "login", {"deep": ["hunter2", {"x": "hunter2"}]}, malformed="{hunter2"),
        ),
    )

    (stored,) = await transcript.append(message_entry(message, 1))

    stored_bytes = b"".join(file.read_bytes() for file in home.path.rglob("*") if file.is_file())
    stored_bytes += str(rows_of(home.hub_db, "SELECT data FROM transcript")).encode()
    assert b"hunter2" not in stored_bytes
    assert b"it is ***" in stored_bytes
    assert stored.message is not None
    assert stored.message.content[1] == Thinking("***?")
    assert (await opened()).messages()[0] == stored.message


async def test_what_json_cannot_hold_is_stored_as_text(opened: Open) -> None:
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"in": deep}
    arguments = {"huge": 2**70, "broken": "\ud800", "deep": deep}

    await (await opened()).append(message_entry(Message(Role.ASSISTANT, (ToolCallBlock("c", "t", arguments),)), 1))

    (entry,) = (await opened()).entries()
    assert entry.message is not None
    assert entry.message.tool_calls[0].arguments["huge"] == str(2**70)


async def test_a_closed_transcript_takes_entries_again(opened: Open) -> None:
    transcript = await opened()
    await transcript.append(message_entry(user_message("one"), 1))
    transcript.close()

    await transcript.append(message_entry(user_message("two"), 2), sync=True)

    assert [message.text for message in (await opened()).messages()] == ["one", "two"]


@FILES
async def test_a_full_disk_leaves_whole_lines_and_says_so(opened: Open, path: Path) -> None:
    transcript = await opened()
    await transcript.append(message_entry(user_message("before"), 1))

    with _files_bounded_to(size_of(path) + 100), pytest.raises(Unavailable, match=os.strerror(errno.EFBIG)):
        await transcript.append(message_entry(user_message("x" * 10_000), 2))
    await transcript.append(message_entry(user_message("after"), 3))

    again = await opened()
    assert [message.text for message in again.messages()] == ["before", "after"]
    assert [message.text for message in transcript.messages()] == ["before", "after"]
    assert again.set_aside is None


@TABLE
async def test_a_transaction_that_fails_is_made_up_for_by_the_next(opened: Open, db: Database) -> None:
    transcript = await opened()
    await transcript.append(message_entry(user_message("before"), 1))
    await db.write(lambda connection: connection.execute("ALTER TABLE transcript RENAME TO lost").rowcount)
    with pytest.raises(QueryFailed):
        await transcript.append(message_entry(user_message("while it was away"), 2))
    await db.write(lambda connection: connection.execute("ALTER TABLE lost RENAME TO transcript").rowcount)

    await transcript.append(message_entry(user_message("after"), 3))

    said = ["before", "while it was away", "after"]
    assert [message.text for message in transcript.messages()] == said
    assert [message.text for message in (await opened()).messages()] == said


@TABLE
async def test_the_end_is_part_of_the_transaction_it_is_given_to(opened: Open, db: Database) -> None:
    transcript = await opened()
    await transcript.append(message_entry(user_message("hello"), 1))
    await transcript.append(message_entry(user_message("the end"), 2), deferred=True)

    def end(connection: SqlConnection, *, fails: bool) -> None:
        rows = transcript.begin_sync()
        assert rows is not None
        rows(connection)
        if fails:
            raise RuntimeError("the rest of it failed")

    with pytest.raises(RuntimeError):
        await db.write(partial(end, fails=True))
    undone = [message.text for message in (await opened()).messages()]
    await db.write(partial(end, fails=False))

    assert undone == ["hello"]
    assert [message.text for message in (await opened()).messages()] == ["hello", "the end"]
    await transcript.sync()  # what was not noted as kept is not there twice
    assert [message.text for message in (await opened()).messages()] == ["hello", "the end"]
    assert transcript.begin_sync() is None


@TABLE
async def test_a_line_that_cannot_be_read_stays_and_what_is_newer_is_refused(opened: Open, db: Database) -> None:
    await (await opened()).append([message_entry(user_message(word), 1, id=word) for word in ("one", "two", "three")])
    await db.write(lambda connection: connection.execute("UPDATE transcript SET data = '{' WHERE id = 'two'").rowcount)

    transcript = await opened()
    await transcript.append(message_entry(user_message("four"), 2))

    assert [message.text for message in (await opened()).messages()] == ["one", "three", "four"]
    await db.write(lambda connection: connection.execute("UPDATE transcripts SET version = 99").rowcount)
    with pytest.raises(NewerTranscript, match="99"):
        await opened()


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
