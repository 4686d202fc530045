"""Runs that were left open: what their transcripts tell decides, and nothing happens twice or is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from hub.agent.conversation.conversation import PROGRAM_ASKED, RUN_ENDED
from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runs.recovery import Evidence, RecoveryVerdict, decide, gather, result_of
from hub.core.sql import SqlConnection
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, Usage, tool_result, user_message
from hub.sessions.entry import TranscriptEntry, event_entry, message_entry
from hub.sessions.repair import pending_calls
from tests.agent.house import CHANGING, MAIN, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer
from tests.transcripts import BOTH, transcript_file

CALL = ToolCallBlock("a", "look")
CHANGE = ToolCallBlock("b", "change")


def assistant(*blocks: Any, run_id: str = "r", **fields: Any) -> TranscriptEntry:
    message = Message(Role.ASSISTANT, tuple(TextBlock(each) if isinstance(each, str) else each for each in blocks))
    return message_entry(message, 1, run_id=run_id, **fields)


HEARD = message_entry(user_message("hi"), 1, run_id="r", id="r-user")
ANSWER = assistant("fine", data={"final": True, "status": "ok", "stop": "end"}, usage=Usage(1, 2), model="p/m")
ENDED = event_entry(RUN_ENDED, 2, {"status": "error", "stop": "limit", "code": "X", "message": "why"}, run_id="r")


@pytest.mark.parametrize(
    ("entries", "kind", "verdict"),
    [
        ([], "message", RecoveryVerdict.RERUN),
        ([], "request", RecoveryVerdict.INTERRUPTED),
        ([HEARD], "message", RecoveryVerdict.RERUN),
        ([HEARD], "request", RecoveryVerdict.INTERRUPTED),
        ([HEARD, assistant(CALL)], "message", RecoveryVerdict.RERUN),
        ([HEARD, assistant(CALL, CHANGE)], "message", RecoveryVerdict.INTERRUPTED),
        ([HEARD, event_entry(PROGRAM_ASKED, 1, run_id="r")], "message", RecoveryVerdict.INTERRUPTED),
        ([HEARD, assistant(ToolCallBlock("c", "unheard_of"))], "message", RecoveryVerdict.INTERRUPTED),
        ([HEARD, assistant(CHANGE, run_id="other")], "message", RecoveryVerdict.RERUN),
        ([HEARD, assistant("part of it", data={"status": "interrupted"})], "message", RecoveryVerdict.RERUN),
        ([HEARD, assistant(CHANGE), ANSWER], "message", RecoveryVerdict.COMPLETED),
        ([HEARD, ANSWER], "request", RecoveryVerdict.COMPLETED),
        ([HEARD, ENDED], "message", RecoveryVerdict.COMPLETED),
    ],
)
def test_what_becomes_of_a_run(
    entries: list[TranscriptEntry], kind: Literal["message", "request"], verdict: RecoveryVerdict
) -> None:
    assert decide(kind, gather(entries, "r", lambda name: name == "look")) is verdict


def test_the_answer_is_taken_from_the_transcript() -> None:
    evidence = gather([HEARD, assistant("let me see", CALL, usage=Usage(3, 4)), ANSWER], "r", lambda _: True)

    result = result_of("r", MAIN, evidence)

    assert result == RunResult("r", MAIN, RunStatus.OK, "fine", usage=Usage(4, 6), model="p/m")
    assert result_of("r", MAIN, gather([HEARD, ENDED], "r", lambda _: True)).error == {"code": "X", "message": "why"}
    with pytest.raises(ValueError, match="has not ended"):
        result_of("r", MAIN, Evidence())


class Left:
    """A hub that died: rows as they were, and what its transcript holds."""

    def __init__(self, folder: Path, server: OpenAIServer, form: str) -> None:
        self.folder, self.server, self.form = folder, server, form

    def house(self) -> AgentHouse:
        house = AgentHouse(self.folder / "home", self.server.base_url, form=self.form)
        house.tool("look", lambda _: "seen")
        house.tool("change", lambda _: "changed", CHANGING)
        return house

    async def die(self, request_kind: Literal["message", "request"], entries: list[TranscriptEntry]) -> None:
        async with standing(self.house()) as house:
            request = house.request("hi", run_id="r", kind=request_kind)
            await house.db.write(lambda connection: house.runner.insert_queued(connection, request))
            session = await house.sessions.ensure(MAIN)
            await (await house.sessions.open_transcript(session)).append(entries)


@pytest.fixture
def left(tmp_path: Path, openai_server: OpenAIServer, form: str) -> Left:
    return Left(tmp_path, openai_server, form)


def delivering(house: AgentHouse, replies: list[str]) -> RunRequest:
    def on_final(_: SqlConnection, result: RunResult) -> None:
        replies.append(result.reply)

    return house.request("hi", run_id="r", kind="message", on_final=on_final)


@BOTH
async def test_an_answer_that_was_not_noted_is_delivered_once_and_not_asked_for_again(
    left: Left, openai_server: OpenAIServer
) -> None:
    await left.die("message", [HEARD, ANSWER])
    replies: list[str] = []

    async with standing(left.house()) as house:
        recovered = await house.runner.recover()
        request = delivering(house, replies)
        first, again = await house.runner.run(request), await house.runner.run(request)
        row = await house.row("r")
        later = await house.runner.recover()

    assert recovered.completed == ("r",)
    assert (first.reply, again.reply, replies) == ("fine", "fine", ["fine"])
    assert (row["state"], row["reply"]) == ("answered", "fine")
    assert later.completed == ()
    assert openai_server.requests() == []


@BOTH
async def test_a_message_that_changed_nothing_is_run_again_from_its_words_on(
    left: Left, openai_server: OpenAIServer
) -> None:
    await left.die("message", [HEARD, assistant("half an", data={"status": "interrupted"}), assistant(CALL)])
    replies: list[str] = []

    async with standing(left.house()) as house:
        recovered = await house.runner.recover()
        await house.runner.run(delivering(house, replies))
        said = house.transcript()
        session = house.sessions.get(MAIN)
        assert session is not None
        branch = [
            entry.message.text for entry in (await house.sessions.open_transcript(session)).branch() if entry.message
        ]

    assert recovered.rerun == ("r",)
    assert replies == ["ok"]
    assert [role for role, _ in said] == ["user", "assistant", "assistant", "toolResult", "assistant"]
    assert branch == ["hi", "ok"]
    assert [message["role"] for message in openai_server.requests()[0]["body"]["messages"]] == ["system", "user"]


@BOTH
async def test_a_message_that_had_begun_to_change_things_is_interrupted_and_its_transcript_whole(
    left: Left, openai_server: OpenAIServer
) -> None:
    await left.die("message", [HEARD, assistant(CALL, CHANGE), message_entry(tool_result(CALL, "seen"), 1, run_id="r")])
    replies: list[str] = []

    async with standing(left.house()) as house:
        recovered = await house.runner.recover()
        result = await house.runner.run(delivering(house, replies))
        row = await house.row("r")
        messages = [entry.message for entry in house.entries() if entry.message is not None]
        next_one = await house.runner.run(house.request("and now?"))

    assert recovered.interrupted == ("r",)
    assert (row["state"], replies) == ("interrupted", [])
    assert result.error is not None
    assert result.error["code"] == "INTERRUPTED"
    assert pending_calls(messages) == []
    assert messages[-1].text.startswith("interrupted:")
    assert next_one.status is RunStatus.OK
    roles = [message["role"] for message in openai_server.requests()[0]["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]


@BOTH
async def test_whoever_was_not_told_of_an_interruption_is_told_after_the_next_crash(left: Left) -> None:
    await left.die("message", [HEARD, assistant(CHANGE)])

    async with standing(left.house()) as house:
        await house.db.write(
            lambda connection: (
                connection.execute(
                    "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state, run_id)"
                    " VALUES ('i', 'webchat', 'default', 'default', 'x', 'm', 1, 'queued', 'r')"
                ).rowcount
            )
        )
        first, second = await house.runner.recover(), await house.runner.recover()

    assert first.interrupted == second.interrupted == ("r",)


@BOTH
@pytest.mark.parametrize("entries", [[HEARD], [HEARD, ANSWER]])
async def test_a_request_is_never_run_again(
    left: Left, openai_server: OpenAIServer, entries: list[TranscriptEntry]
) -> None:
    await left.die("request", entries)

    async with standing(left.house()) as house:
        await house.runner.recover()
        result = await house.runner.run(house.request("hi", run_id="r"))
        row = await house.row("r")

    assert row["state"] == ("answered" if ANSWER in entries else "interrupted")
    assert result.reply == ("fine" if ANSWER in entries else "")
    assert openai_server.requests() == []


@pytest.mark.sqlite_only
async def test_a_run_whose_transcript_cannot_be_read_is_not_run_again(left: Left) -> None:
    await left.die("message", [HEARD])
    async with standing(left.house()) as house:
        session = house.sessions.get(MAIN)
        assert session is not None
        path = transcript_file(house.sessions, session)
        path.unlink()
        path.mkdir()

        recovered = await house.runner.recover()

        assert recovered.interrupted == ("r",)


@BOTH
async def test_there_is_nothing_to_do_after_a_clean_stop(left: Left) -> None:
    async with standing(left.house()) as house:
        await house.runner.run(house.request())

    async with standing(left.house()) as house:
        recovered = await house.runner.recover()

    assert (recovered.rerun, recovered.interrupted, recovered.completed) == ((), (), ())
