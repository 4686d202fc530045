"""`runs.*`: what a run did, from the message to the reply, and who may see it."""

from __future__ import annotations

from typing import Any

import pytest

from hub.agent.run_request import RunRequest
from hub.agent.runs.run_rows import RunSurroundings, StoredRun
from hub.agent.runs.run_timeline import RunWords, timeline
from hub.agent.runs.trace import RunTrace
from hub.core.clock import ManualClock
from hub.core.context import Authority, Context
from hub.core.ids import new_id
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, user_message
from hub.sessions.entry import EntryType, TranscriptEntry
from hub.sessions.keys import direct_key, subagent_key
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

LOOK = {"tool_call": {"name": "look", "arguments": {"where": "the cellar"}}}
SCHEMA = {"type": "object", "properties": {"where": {"type": "string"}}}
RUN = StoredRun(1, "r1", "main", "agent:main:main", "s1", "message", "answered", 0, 5, 500, None, None, {}, None, {})


def add_tool(house: HubFixture, name: str = "look", annotations: Annotations = READS_HOME) -> list[str]:
    """Add a tool; return what it is called with from now on."""
    called: list[str] = []

    async def run(call: ToolCall) -> ToolResult:
        called.append(call.arguments.get("where", ""))
        return ToolResult(f"{called[-1]} is dry; the code is hunter2hunter2")

    house.tools.register(Tool(name, "Works.", from_json_schema(SCHEMA), run, "test", annotations))
    return called


async def ask(house: HubFixture, text: str = "hello") -> str:
    """Ask in the chat of the dashboard; return the run."""
    async with connected(house) as client:
        run_id = new_id()
        await client.call("chat.send", {"sessionKey": "main", "message": text, "idempotencyKey": run_id})
        await client.event("chat", lambda payload: payload["state"] == "final")
    return run_id


async def call(house: HubFixture, method: str, params: dict[str, Any]) -> Any:
    async with connected(house) as client:
        answer = await client.call(method, params)
    return answer.get("payload") or answer["error"]


async def run_in(house: HubFixture, session_key: str, authority: Authority, text: str = "hello") -> str:
    run_id = new_id()
    await house.runner.run(RunRequest(run_id, "main", session_key, user_message(text), Context(authority)))
    return run_id


async def test_a_run_is_told_from_the_message_to_the_reply(house: HubFixture, openai_server: OpenAIServer) -> None:
    add_tool(house)
    house.redactor.register("hunter2hunter2")
    openai_server.queue(LOOK, "It is dry.")

    run_id = await ask(house, "look into the cellar")
    told = await call(house, "runs.get", {"runId": run_id})

    received, queued, asked, looked, answered, sent = told["steps"]
    assert [each["kind"] for each in told["steps"]] == ["received", "queued", "model", "tool", "model", "sent"]
    assert (sent["channel"], sent["text"]) == ("webchat", "It is dry.")
    assert (received["channel"], received["text"]) == ("webchat", "look into the cellar")
    assert queued["durationMs"] >= 0
    assert asked["calls"] == ["look"]
    assert (looked["name"], looked["isError"]) == ("look", False)
    assert '"the cellar"' in looked["input"]
    assert looked["output"].startswith("the cellar is dry")
    assert "hunter2" not in looked["output"]
    assert (answered["text"], answered["model"]) == ("It is dry.", "test/model")
    assert (told["state"], told["reply"], told["traced"]) == ("answered", "It is dry.", True)
    assert told["prompt"]["tokens"] > 0


async def test_all_that_a_model_was_sent_in_a_call_is_shown_as_the_model_got_it(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    add_tool(house)
    house.redactor.register("hunter2hunter2")
    await ask(house, "good morning")
    openai_server.queue(LOOK, "It is dry.")
    run_id = await ask(house, "look into the cellar")
    got = [each["body"] for each in openai_server.requests()[-2:]]

    first, second = [await call(house, "runs.sent", {"runId": run_id, "call": number}) for number in (0, 1)]

    assert (first["calls"], second["model"]) == (2, "test/model")
    for shown, body in ((first, got[0]), (second, got[1])):
        kept = [part["text"] for part in shown["system"] if part["text"] is not None]
        assert kept
        assert all(text in body["messages"][0]["content"] for text in kept)
        assert [tool["name"] for tool in shown["tools"]] == [tool["function"]["name"] for tool in body["tools"]]
        assert len(shown["messages"]) == len(body["messages"]) - 1
    assert [each["role"] for each in second["messages"]] == ["user", "assistant", "user", "assistant", "toolResult"]
    assert "look into the cellar" in first["messages"][-1]["parts"][0]["text"]
    assert second["messages"][-2]["parts"][-1] == {"kind": "call", "name": "look", "text": '{"where":"the cellar"}'}
    assert second["messages"][-1]["parts"][0]["text"].startswith("the cellar is dry")
    assert "hunter2" not in str(second)


async def test_what_a_model_was_sent_ends_with_its_conversation_and_is_not_for_others(house: HubFixture) -> None:
    run_id = await ask(house)
    key = (await call(house, "runs.get", {"runId": run_id}))["sessionKey"]
    beyond = await call(house, "runs.sent", {"runId": run_id, "call": 7})
    await house.sessions.delete(key)

    gone = await call(house, "runs.sent", {"runId": run_id})
    private = await run_in(house, direct_key("main", "eve", channel="telegram"), Authority("person:eve", "eve"))
    theirs = await call(house, "runs.sent", {"runId": private})

    assert [each["code"] for each in (beyond, gone, theirs)] == ["NOT_FOUND"] * 3


async def test_memory_is_in_no_piece_that_is_kept() -> None:
    trace = RunTrace(ManualClock())
    trace.parts = (("rules", "Be kind."), ("MEMORY.md", "the gate code is 4711"), ("memory/2026-11-29.md", "4711"))

    assert list(trace.pieces().values()) == ["Be kind."]
    assert [(each["name"], bool(each["piece"])) for each in trace.as_dict()["prompt"]["parts"]] == [
        ("rules", True),
        ("MEMORY.md", False),
        ("memory/2026-11-29.md", False),
    ]


async def test_without_its_trace_a_run_shows_what_the_transcript_has(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    add_tool(house)
    openai_server.queue(LOOK, "It is dry.")
    run_id = await ask(house)
    await house.history.close()

    told = await call(house, "runs.get", {"runId": run_id})

    assert told["traced"] is False
    assert [each["kind"] for each in told["steps"]] == ["received", "queued", "model", "tool", "model", "sent"]
    assert told["steps"][3]["output"].startswith("the cellar is dry")
    assert told["steps"][3]["durationMs"] is None


async def test_a_run_keeps_its_words_when_its_conversation_is_reset_and_loses_them_when_it_is_deleted(
    house: HubFixture,
) -> None:
    run_id = await ask(house)
    key = (await call(house, "runs.get", {"runId": run_id}))["sessionKey"]

    await house.sessions.reset(key)
    after_reset = await call(house, "runs.get", {"runId": run_id})
    await house.sessions.delete(key)
    after_delete = await call(house, "runs.get", {"runId": run_id})

    assert [each["text"] for each in after_reset["steps"] if "text" in each] == ["hello", "ok", "ok"]
    assert [each["text"] for each in after_delete["steps"] if "text" in each] == ["", None, ""]
    assert (after_reset["reply"], after_delete["reply"]) == ("ok", None)


async def test_runs_are_listed_newest_first_and_by_what_is_asked_for(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    openai_server.queue("one", {"status": 401, "body": {"error": {"message": "Invalid API key"}}}, "three")
    owner = Authority("owner", scopes=frozenset({"operator.admin"}), owner=True)
    ids = [await run_in(house, f"agent:main:cron:{name}", owner) for name in ("a", "b", "c")]

    everything = await call(house, "runs.list", {})
    failed = await call(house, "runs.list", {"state": "failed"})
    of_c = await call(house, "runs.list", {"sessionKey": "cron:c"})
    first = await call(house, "runs.list", {"limit": 2})
    rest = await call(house, "runs.list", {"limit": 2, "before": first["next"]})

    assert [each["runId"] for each in everything["runs"]] == ids[::-1]
    assert [(each["runId"], each["error"]["code"]) for each in failed["runs"]] == [(ids[1], "MODEL_AUTH")]
    assert [each["runId"] for each in of_c["runs"]] == [ids[2]]
    assert [each["runId"] for each in (*first["runs"], *rest["runs"])] == ids[::-1]
    assert rest["next"] is None


@pytest.mark.parametrize(
    ("session_key", "principal", "is_shown"),
    [
        (direct_key("main", "999", channel="telegram"), "peer:telegram:user:999", False),
        (subagent_key("main", "painter"), "peer:telegram:user:999", False),
        (direct_key("main", "me", channel="api"), "owner", True),
        (subagent_key("main", "painter"), "system", True),
        ("agent:main:telegram:group:5", "peer:telegram:user:999", True),
    ],
)
async def test_what_others_say_in_private_is_not_shown(
    house: HubFixture, session_key: str, principal: str, is_shown: bool
) -> None:
    person = None if principal in ("owner", "system") else "somebody"
    run_id = await run_in(house, session_key, Authority(principal, person, owner=principal == "system"))

    listed = await call(house, "runs.list", {})
    told = await call(house, "runs.get", {"runId": run_id})

    assert [each["runId"] for each in listed["runs"]] == ([run_id] if is_shown else [])
    assert told.get("code") == (None if is_shown else "NOT_FOUND")


async def test_a_run_is_put_to_another_model_which_can_change_nothing(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    add_tool(house)
    painted = add_tool(house, "paint", Annotations(destructive=False, open_world=False))
    openai_server.queue("one", LOOK, "It is dry.")
    await ask(house, "first")
    run_id = await ask(house, "look into the cellar")
    kept = await call(house, "sessions.transcript", {"key": "main"})
    openai_server.queue({"tool_call": {"name": "paint", "arguments": {}}}, "I would have painted it.")

    sides = await call(house, "runs.replay", {"runId": run_id, "model": "test/other", "idempotencyKey": new_id()})

    original, replay = sides["original"], sides["replay"]
    assert (original["reply"], original["model"], original["calls"]) == ("It is dry.", "test/model", ["look"])
    assert (replay["reply"], replay["model"], replay["calls"]) == ("I would have painted it.", "test/other", ["paint"])
    *_, first, before, asked, refused = (each["body"] for each in openai_server.requests())
    assert asked["model"] == "other"
    assert asked["messages"][1:-1] == first["messages"][1:-1]
    assert asked["messages"][-1]["content"].endswith(", webchat]\n\nlook into the cellar")
    assert {"look"} == {"look", "paint"} & {tool["function"]["name"] for tool in asked["tools"]}
    assert "paint" in [tool["function"]["name"] for tool in before["tools"]]
    assert "paint is not allowed here" in refused["messages"][-1]["content"]
    assert await call(house, "sessions.transcript", {"key": "main"}) == kept
    assert painted == []


async def test_what_is_not_kept_cannot_be_put_to_another_model(house: HubFixture) -> None:
    run_id = await ask(house)
    await house.sessions.delete("agent:main:main")

    gone = await call(house, "runs.replay", {"runId": run_id, "model": "test/other", "idempotencyKey": new_id()})
    unknown = await call(house, "runs.replay", {"runId": run_id, "model": "no/such", "idempotencyKey": new_id()})

    assert gone["message"] == f"the conversation of the run {run_id!r} is not kept"
    assert unknown["code"] == "NOT_FOUND"


def test_without_its_trace_steps_of_one_millisecond_stand_as_they_were_said() -> None:
    asked = Message(Role.ASSISTANT, (ToolCallBlock("1", "look"),))
    found = Message(Role.TOOL, (TextBlock("dry"),), tool_call_id="1", tool_name="look")
    said = Message(Role.ASSISTANT, (TextBlock("It is dry."),))
    entries = [TranscriptEntry(EntryType.MESSAGE, 10, each, run_id="r1") for each in (asked, found, said)]

    steps = timeline(RUN, None, RunWords(entries, "r1"), RunSurroundings((), (), ()))

    assert [(each["kind"], each.get("output"), each.get("text")) for each in steps[2:]] == [
        ("model", None, ""),
        ("tool", "dry", None),
        ("model", None, "It is dry."),
    ]


def test_an_approval_is_shown_with_the_call_that_waited_for_it() -> None:
    def asked(at: int, tool: str | None) -> dict[str, Any]:
        told = {"kind": "tool", "title": str(tool), "tool": tool, "state": "approved", "by": "owner", "reason": ""}
        return {**told, "at": at, "decidedAt": at + 40}

    def called(at: int, name: str, call_id: str) -> dict[str, Any]:
        told = {"kind": "tool", "at_ms": at, "duration_ms": 100.0, "name": name}
        return {**told, "call_id": call_id, "is_error": False}

    trace = {"steps": [called(10, "paint", "1"), called(10, "look", "2"), called(300, "paint", "3")]}
    approvals = [asked(20, "paint"), asked(250, None), asked(310, "paint")]

    steps = timeline(RUN, trace, RunWords((), "r1"), RunSurroundings((), approvals, ()))

    assert [(each["kind"], each.get("name"), each.get("approval", {}).get("waitedMs")) for each in steps[2:]] == [
        ("tool", "paint", 40),
        ("tool", "look", None),
        ("approval", None, None),
        ("tool", "paint", 40),
    ]


async def test_a_run_that_is_not_there_says_so(house: HubFixture) -> None:
    told = await call(house, "runs.get", {"runId": "nobody"})
    wrong = await call(house, "runs.list", {"state": "happy"})

    assert told["message"] == "there is no run 'nobody'"
    assert wrong["code"] == "INVALID_REQUEST"
