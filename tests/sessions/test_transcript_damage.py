"""Transcripts survive truncation and flipped bytes at any offset, and kill -9 at any moment."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.sessions.entry import Header, encode_line, message_entry
from hub.sessions.transcript import Transcript
from hub.sessions.transcript_file import NewerTranscript, read_lines
from tests.lengths import examples

HEADER = encode_line(Header("s1", "agent:main:main").as_dict())


def conversation() -> list[bytes]:
    """Lines of a conversation with calls, results and two languages."""
    call = ToolCallBlock("c1", "ls", {"path": "."})
    said = [
        user_message("what is in here? 这里有什么?"),
        Message(Role.ASSISTANT, (TextBlock("let me look"), call)),
        tool_result(call, "a\nb"),
        Message(Role.ASSISTANT, (TextBlock("two files"),)),
        user_message("thanks"),
    ]
    lines, parent = [], None
    for number, message in enumerate(said):
        entry = message_entry(message, number, id=f"e{number}", parent_id=parent)
        lines.append(encode_line(entry.as_dict()))
        parent = entry.id
    return lines


LINES = [HEADER, *conversation()]
WHOLE = b"".join(LINES)


def opened(path: Path) -> Transcript:
    return Transcript.open(path, session_id="s1", key="agent:main:main")


def assert_sound(path: Path) -> None:
    """Whatever is in the file now: it opens without anything to set aside, and every call has its result."""
    again = opened(path)
    assert again.set_aside is None
    expected: list[str] = []
    for message in again.messages():
        if message.role is Role.TOOL:
            assert expected.pop(0) == message.tool_call_id
            continue
        assert expected == []
        expected = [call.id for call in message.tool_calls]
    assert expected == []


@settings(deadline=None)
@given(cut=st.integers(min_value=0, max_value=len(WHOLE)))
async def test_a_file_cut_off_anywhere_loses_only_the_torn_line(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.write_bytes(WHOLE[:cut])
        whole = [line for number, line in enumerate(LINES) if sum(map(len, LINES[: number + 1])) - 1 <= cut]

        transcript = opened(path)
        await transcript.append(message_entry(user_message("on we go"), 99, id="fresh"))

        kept = [f"e{number}" for number in range(max(0, len(whole) - 1))]
        assert [entry.id for entry in transcript.entries()] == [*kept, "fresh"]
        assert [entry.id for entry in opened(path).entries()] == [*kept, "fresh"]
        torn = WHOLE[sum(map(len, whole)) : cut]
        assert (transcript.set_aside is not None) == bool(torn)
        if transcript.set_aside is not None:
            assert transcript.set_aside.read_bytes() == torn + b"\n"
            assert transcript.set_aside.name.startswith("s1.jsonl.damaged-")
        assert_sound(path)


@settings(deadline=None, max_examples=examples(300))
@given(at=st.integers(min_value=0, max_value=len(WHOLE) - 1), byte=st.integers(min_value=0, max_value=255))
async def test_a_byte_flipped_anywhere_costs_at_most_the_lines_it_is_in(at: int, byte: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.write_bytes(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])
        touched = {number for number in range(len(LINES)) if _touches(number, at)}
        unhurt = [f"e{number - 1}" for number in range(1, len(LINES)) if number not in touched]

        transcript = opened(path)
        await transcript.repair(ts_ms=50)
        await transcript.append(message_entry(user_message("on we go"), 99, id="fresh"))

        found = [entry.id for entry in opened(path).entries()]
        assert [id for id in found if id in unhurt] == unhurt
        assert found[-1] == "fresh"
        assert len(path.read_bytes()) + _set_aside_bytes(transcript) >= len(WHOLE)
        assert_sound(path)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_complaint(data: bytes) -> None:
    found = read_lines(data)

    assert found.size_bytes == len(data)
    assert sum(map(len, [*found.good, *found.damaged])) <= len(data)


async def test_damaged_lines_are_set_aside_and_the_others_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"".join([LINES[0], LINES[1], b"\x00garbage\n", LINES[2], b'{"half":\n', *LINES[3:]]))

    transcript = opened(path)

    assert path.read_bytes() == WHOLE
    assert transcript.set_aside is not None
    assert transcript.set_aside.read_bytes() == b'\x00garbage\n{"half":\n'
    assert len(transcript.messages()) == 5


async def test_two_damages_of_one_second_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    asides = set()
    for number in range(3):
        path.write_bytes(WHOLE + b"torn %d" % number)
        asides.add(opened(path).set_aside)

    assert len(asides) == 3


async def test_a_lost_entry_does_not_take_those_behind_it_along(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"".join([LINES[0], LINES[1], *LINES[4:]]))

    assert [message.text for message in opened(path).messages()] == [
        "what is in here? 这里有什么?",
        "two files",
        "thanks",
    ]


async def test_entries_that_are_each_others_parents_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    one = encode_line(message_entry(user_message("1"), 1, id="a", parent_id="b").as_dict())
    two = encode_line(message_entry(user_message("2"), 1, id="b", parent_id="a").as_dict())
    path.write_bytes(HEADER + one + two)

    assert [message.text for message in opened(path).messages()] == ["1", "2"]


async def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    newer = encode_line({"type": "header", "version": 7, "session_id": "s1", "key": "k"}) + b'{"type":"wave"}\n'
    path.write_bytes(newer)

    with pytest.raises(NewerTranscript, match="version 7"):
        opened(path)

    assert path.read_bytes() == newer


WRITER = """
import asyncio, sys
from pathlib import Path
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.sessions.entry import message_entry
from hub.sessions.transcript import Transcript

async def main():
    transcript = Transcript.open(Path(sys.argv[1]), session_id="s1", key="agent:main:main")
    await transcript.repair()
    number = 0
    while True:
        number += 1
        call = ToolCallBlock(f"c{number}", "ls", {})
        for message in (user_message("x" * 2000), Message(Role.ASSISTANT, (call,)), tool_result(call, "y" * 2000)):
            (entry,) = await transcript.append(message_entry(message, number), sync=number % 5 == 0)
            print(entry.id, flush=True)

asyncio.run(main())
"""


def test_nothing_that_was_appended_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    acknowledged: list[str] = []

    for round_number in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        ) as process:
            assert process.stdout is not None
            for _ in range(17 + round_number):
                acknowledged.append(process.stdout.readline().strip())
            process.send_signal(signal.SIGKILL)
            acknowledged += [line.strip() for line in process.stdout if line.endswith("\n")]

    stored = {orjson.loads(line).get("id") for line in path.read_bytes().split(b"\n") if line.startswith(b'{"id"')}
    assert len(acknowledged) >= 4 * 17
    assert set(acknowledged) <= stored
    assert_sound(path)


def _touches(number: int, at: int) -> bool:
    """Whether a byte at this offset is part of the line, its newline, or the newline before it."""
    begin = sum(map(len, LINES[:number]))
    return begin - 1 <= at < begin + len(LINES[number])


def _set_aside_bytes(transcript: Transcript) -> int:
    return len(transcript.set_aside.read_bytes()) if transcript.set_aside is not None else 0
