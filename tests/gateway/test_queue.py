"""How messages of clients wait while an agent is busy: each run that a client named has its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

LOOK: list[dict[str, Any]] = [{"tool_call": {"name": "look", "arguments": {}}}, {"hold": "look"}]


def final_of(client: Any, run_id: str) -> Any:
    """Wait for the last event of a run."""
    return client.event("chat", lambda each: each["runId"] == run_id and each["state"] != "delta")


async def send(client: Any, key: str, text: str, **more: Any) -> dict[str, Any]:
    asked = {"sessionKey": "main", "message": text, "idempotencyKey": key}
    answered: dict[str, Any] = (await client.call("chat.send", asked | more))["payload"]
    return answered


def heard(server: OpenAIServer, number: int) -> str:
    """What a model was sent, as one text."""
    return str(server.requests()[number]["body"])


@pytest.fixture
def looking(house: HubFixture) -> HubFixture:
    """A house whose agent can look at something."""

    async def look(call: ToolCall) -> ToolResult:
        return ToolResult("a light", trusted=True)

    schema = from_json_schema({"type": "object", "properties": {}})
    house.tools.register(Tool("look", "Look.", schema, look, "test", Annotations(read_only=True)))
    return house


@pytest.mark.parametrize(
    ("mode", "answers"),
    [
        ("steer", ["both", "both", "both"]),
        ("collect", ["alone", "both", "both"]),
        ("followup", ["alone", "both", "third"]),
        ("steer-backlog", ["alone", "both", "third"]),
    ],
)
async def test_each_named_run_ends_with_the_answer_that_its_message_got(
    looking: HubFixture, openai_server: OpenAIServer, mode: str, answers: Sequence[str]
) -> None:
    texts = ["both"] if mode == "steer" else ["alone", "both"] if mode == "collect" else ["alone", "both", "third"]
    openai_server.queue(LOOK, *texts)

    async with connected(looking, scopes=["operator.write", "operator.read"]) as client:
        command = await send(client, "k0", f"/queue {mode} debounce:0s")
        await send(client, "a", "first")
        await openai_server.until_arrived(1)
        await send(client, "b", "second words")
        await send(client, "c", "third words")
        openai_server.release("look")
        ended = [(await final_of(client, key))["payload"] for key in "abc"]
        waited = [(await client.call("agent.wait", {"runId": key}))["payload"] for key in "abc"]
        again = await send(client, "b", "second words")

    assert command["status"] == "ok"
    assert [each["state"] for each in ended] == ["final"] * 3
    assert [each["message"]["content"][0]["text"] for each in ended] == list(answers)
    assert [(each["status"], each["reply"]) for each in waited] == [("ok", answer) for answer in answers]
    assert again["runId"] in ("a", "b")
    assert len(openai_server.requests()) == 1 + len(texts)
    if mode == "steer":
        assert "second words" in heard(openai_server, 1)
        assert "third words" in heard(openai_server, 1)


async def test_an_interrupt_stops_the_turn_and_answers_the_newest(
    looking: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "never"}], "newest")

    async with connected(looking, scopes=["operator.write", "operator.read"]) as client:
        await send(client, "a", "first")
        await openai_server.until_arrived(1)
        await send(client, "b", "second", queueMode="interrupt")
        stopped, answered = await final_of(client, "a"), await final_of(client, "b")

    assert stopped["payload"]["state"] == "aborted"
    assert answered["payload"]["message"]["content"][0]["text"] == "newest"


async def test_who_waits_for_a_run_hears_that_it_is_answered_with_another_or_given_up(
    looking: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"hold": "on"}, {"text": "alone"}], "rest")

    scopes = ["operator.write", "operator.read"]
    async with connected(looking, scopes=scopes) as client, connected(looking, scopes=scopes) as other:
        await send(client, "a", "first")
        await openai_server.until_arrived(1)
        for key in "bcd":
            await send(client, key, f"words {key}")
        for key in "bcd":
            await other.send("agent.wait", {"runId": key}, id=key)
        given_up = await client.call("chat.abort", {"sessionKey": "main", "runId": "c"})
        aborted = await final_of(client, "c")
        openai_server.release("on")
        frames: dict[str, Any] = {}
        while len(frames) < 3:
            frame = await other.frame()
            frames |= {frame["id"]: frame["payload"]} if frame["type"] == "res" else {}
        results = [frames[key] for key in "bcd"]

    assert given_up["payload"]["runIds"] == ["c"]
    assert aborted["payload"]["state"] == "aborted"
    assert [each["status"] for each in results] == ["ok", "error", "ok"]
    assert [each["runId"] for each in results] == ["b", "c", "d"]
    assert results[0]["reply"] == results[2]["reply"] == "rest"
    assert "words c" not in heard(openai_server, 1)


async def test_what_waits_is_answered_after_a_stop(looking: HubFixture, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "never"}], "the next one")

    async with connected(looking, scopes=["operator.write", "operator.read"]) as client:
        await send(client, "a", "first")
        await openai_server.until_arrived(1)
        await send(client, "b", "second")
        stopped = await client.call("chat.abort", {"sessionKey": "main"})
        answered = await final_of(client, "b")

    assert stopped["payload"]["runIds"] == ["a"]
    assert answered["payload"]["message"]["content"][0]["text"] == "the next one"


async def test_a_mode_that_there_is_not_is_refused(looking: HubFixture) -> None:
    async with connected(looking) as client:
        refused = await client.call(
            "chat.send", {"sessionKey": "main", "message": "hi", "idempotencyKey": "k", "queueMode": "backwards"}
        )

    assert refused["error"]["code"] == "INVALID_REQUEST"
