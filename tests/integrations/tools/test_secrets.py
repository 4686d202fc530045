"""Secrets for agents: asked for by a masked field, named by the model, put into one call's environment."""

from __future__ import annotations

import asyncio
import json
import stat
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest

from hub.core.context import Authority, Context
from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from hub.core.schema import Required, Schema, string
from hub.core.secret import Secret
from hub.messaging.notices.approval_messages import question_text
from hub.security.redaction import Redactor
from hub.tools.agent_secrets import FILE, AgentSecrets, Holder, requested_secret
from hub.tools.approval import Approval
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.integrations.tools.standing import ANNAS, GROUP, Standing

VALUE = "correct horse/battery+staple"
MINE = Holder("main", "me")
ASK = {"name": "BIKE_KEY", "why": "to open the bike"}


@pytest.fixture
def given(place: Standing) -> list[ToolCall]:
    """The calls of a tool that starts programs."""
    calls: list[ToolCall] = []

    async def run(call: ToolCall) -> ToolResult:
        calls.append(call)
        return ToolResult("done")

    schema = from_schema(Schema({Required("command"): string, Required("note"): string}))
    marks = Annotations(owner_only=False)
    place.tools.register(Tool("start", "Start a program.", schema, run, "shell", marks, _never))
    return calls


def _never(arguments: Any, authority: Authority) -> None:
    return None


async def asked(place: Standing, **more: Any) -> tuple[asyncio.Task[ToolResult], Approval]:
    requested = place.tasks.spawn(place.bus.wait_for("question_requested"), name="requested")
    await asyncio.sleep(0)
    task = place.tasks.spawn(place.call("ask_secret", {**ASK, **more.pop("arguments", {})}, **more), name="ask")
    await requested
    (question,) = place.approvals.questions()
    return task, question


async def give(place: Standing, question: Approval, authority: Authority, value: str = VALUE) -> None:
    async def keep(each: Approval) -> None:
        holder, name = requested_secret(each) or (MINE, "")
        await place.agent_secrets.keep(holder, name, Secret(value))

    await place.approvals.answer(question.id, "given", Context(authority), keep=keep)


async def start(place: Standing, command: str, **more: Any) -> ToolResult:
    return await place.call("start", {"command": command, "note": "$BIKE_KEY"}, **more)


async def test_what_is_given_too_late_is_not_kept(place: Standing) -> None:
    task, question = await asked(place)
    place.clock.jump(1_000_000)

    with pytest.raises(Conflict, match="expired"):
        await give(place, question, place.owner)

    assert place.agent_secrets.all() == []
    assert "nobody gave it in time" in (await task).output


async def test_what_is_given_reaches_the_calls_that_name_it_and_no_words(
    place: Standing, given: list[ToolCall]
) -> None:
    task, question = await asked(place)
    await give(place, question, place.owner)
    result = await task
    await start(place, 'unlock "$BIKE_KEY"')
    await start(place, "unlock ${BIKE_KEY}")
    await start(place, "echo BIKE_KEY $BIKE_KEYS")

    assert "$BIKE_KEY" in result.output
    assert [dict(each.environment) for each in given] == [{"BIKE_KEY": Secret(VALUE)}] * 2 + [{}]
    assert VALUE not in f"{result} {question} {[each.arguments for each in given]}"


async def test_one_that_is_kept_is_not_asked_for_again_unless_it_no_longer_works(place: Standing) -> None:
    await place.agent_secrets.keep(MINE, "BIKE_KEY", Secret(VALUE))

    known = await place.call("ask_secret", ASK)
    task, question = await asked(place, arguments={"renew": True})
    await give(place, question, place.owner, "a-new-value")

    assert "already" in known.output
    assert not (await task).is_error


async def test_a_chat_shows_where_to_give_it_and_takes_no_words_for_it(place: Standing) -> None:
    task, question = await asked(place)

    text = question_text(question, "en")
    with pytest.raises(InvalidRequest, match="homarus secrets set BIKE_KEY"):
        await place.approvals.answer(question.code, VALUE, Context(place.owner))
    await place.approvals.answer(question.code, None, Context(place.owner))

    assert "http://127.0.0.1:18789/" in text
    assert "Do not write it here" in text
    assert "declined" in (await task).output


async def test_a_secret_is_for_its_person_and_agent_alone(place: Standing, given: list[ToolCall]) -> None:
    task, question = await asked(place, authority=place.anna, session=ANNAS)
    with pytest.raises(Forbidden):
        await give(place, question, place.stranger)
    await give(place, question, place.anna)
    await task

    await start(place, "$BIKE_KEY", authority=place.anna, session=ANNAS)
    await start(place, "$BIKE_KEY")

    assert [list(each.environment) for each in given] == [["BIKE_KEY"], []]
    assert place.agent_secrets.for_call(_of_agent(given[0], "other"), frozenset({"command"})) == {}


def _of_agent(call: ToolCall, agent: str) -> ToolCall:
    return ToolCall(call.id, call.name, call.arguments, call.context, agent, call.session_key, call.run_id)


async def test_under_words_from_outside_a_call_that_is_given_one_asks(place: Standing, given: list[ToolCall]) -> None:
    tainted = place.owner.narrow(tainted=True)
    await place.agent_secrets.keep(MINE, "BIKE_KEY", Secret(VALUE))

    without = await start(place, "ls", authority=tainted)
    with_it = await start(place, "$BIKE_KEY", authority=tainted)
    asking = await place.call("ask_secret", ASK, authority=tainted)

    assert not without.is_error
    assert "BIKE_KEY" in with_it.output
    assert "approval" in with_it.output
    assert "approval" in asking.output
    assert len(given) == 1


async def test_it_is_kept_over_a_restart_in_a_private_file_and_hidden_from_the_start(place: Standing) -> None:
    await place.agent_secrets.keep(MINE, "BIKE_KEY", Secret(VALUE))
    redactor = Redactor()
    again = AgentSecrets(place.home.storage, redactor, place.clock)
    await again.open()

    seen = [
        VALUE,
        quote(VALUE),
        json.dumps(VALUE),
        *(b64encode(b"x" * n + VALUE.encode() + b"\n").decode() for n in range(3)),
    ]

    assert again.has(MINE, "BIKE_KEY")
    assert stat.S_IMODE((place.home.storage / FILE).stat().st_mode) == 0o600
    for each in seen:
        assert "[redacted]" in redactor.redact(f"key: {each}."), each
        assert VALUE[4:12] not in redactor.redact(each)
    await again.remove(MINE, "BIKE_KEY")
    assert VALUE.encode() not in (place.home.storage / FILE).read_bytes()
    with pytest.raises(NotFound):
        await again.remove(MINE, "BIKE_KEY")


@pytest.mark.parametrize("value", ["tiny", " " * 20, "x" * 8_001, "with\0a zero byte"])
async def test_a_value_that_cannot_be_hidden_is_refused_without_being_shown(place: Standing, value: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await place.agent_secrets.keep(MINE, "BIKE_KEY", Secret(value))

    assert value not in refused.value.message
    assert place.agent_secrets.all() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "PATH"},
        {"name": "LD_PRELOAD"},
        {"name": "bike_key"},
        {"name": "KEY"},
        {"name": "BIKE_KEY="},
        {"why": ""},
        {"why": "x" * 301},
    ],
)
async def test_bad_names_and_reasons_are_refused_before_anyone_sees_them(
    place: Standing, arguments: dict[str, Any]
) -> None:
    result = await place.call("ask_secret", {**ASK, **arguments})

    assert result.is_error
    assert place.approvals.questions() == []


async def test_nobody_gives_one_in_time_and_strangers_are_not_asked(place: Standing) -> None:
    task, _ = await asked(place)
    await place.clock.advance(901)
    misnamed = await place.call("ask_secret", {**ASK, "name": "PATH"})
    stranger = await place.call("ask_secret", ASK, authority=place.stranger, session=GROUP)
    nowhere = await place.call("ask_secret", ASK, session="agent:main:direct:none")

    assert "in time" in (await task).output
    assert stranger.is_error
    assert "stored conversation" in nowhere.output
    assert "name: expected capitals that end in _KEY" in misnamed.output
