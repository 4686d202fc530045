"""With a model server: streaming, tools, several agents, failures and fallbacks, limits and stopping."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.compaction.test_compaction import SUMMARY
from tests.e2e.homes import make_home
from tests.e2e.talk import ask, chat, connected, messages_of, query, results_of, say, shown, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

CONFIGURATION = """\
models:
  default: test/scripted
  aliases: {{quick: test/other}}
  retry: {{attempts: 2}}
  providers:
    test:
      api: openai
      base_url: {base_url}
      api_key: test-key-0123456789
      models:
        - {{id: scripted, context_window: 32768, cost: {{input: 1000, output: 1000}}}}
        - {{id: other, context_window: 32768}}
    guarded:
      api: openai
      base_url: {base_url}
      api_key: !secret guarded_key
      models: [locked]
    nowhere:
      api: openai
      base_url: http://127.0.0.1:9/v1
      api_key: test-key-0123456789
      models: [gone]
agents:
  - {{id: main, default: true, limits: {{cost_usd: 1000}}}}
  - {{id: cook, name: Cook, model: quick, workspace: kitchen}}
  - {{id: guest, tools: {{profile: minimal}}}}
  - {{id: hasty, limits: {{turns: 2}}}}
  - {{id: poor, limits: {{cost_usd: 0.01}}}}
  - {{id: brief, limits: {{seconds: 0.5}}}}
  - {{id: lost, model: nowhere/gone}}
"""
KEY = "sk-guarded-0123456789abcdef"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, server: OpenAIServerProcess) -> Iterator[HubProcess]:
    home = make_home(tmp_path_factory.mktemp("models") / "home", CONFIGURATION.format(base_url=server.base_url))
    (home / "secrets.yaml").write_text(f"guarded_key: {KEY}\n")
    with HubProcess(home) as hub:
        yield hub
    assert KEY not in hub.log.read_text()
    assert "Traceback" not in hub.log.read_text()


@pytest.fixture(autouse=True)
def nothing_scripted(server: OpenAIServerProcess) -> None:
    server.reset()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": arguments}}


def output(result: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


async def test_text_streams_to_those_who_listen(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "one "}, {"hold": "first"}, {"text": "two"}])
    async with connected(hub) as client:
        sent = {"sessionKey": "stream", "message": "count", "idempotencyKey": "stream"}
        await client.call("chat.send", sent)
        first = await client.event("chat", lambda told: told["runId"] == "stream")
        server.release("first")
        final = await client.event("chat", lambda told: told["runId"] == "stream" and told["state"] == "final")

    assert (first["payload"]["state"], first["payload"]["deltaText"]) == ("delta", "one ")
    assert shown(final["payload"]["message"]) == "one two"
    assert final["payload"]["usage"]["output_tokens"] > 0


def test_the_usage_is_told_in_json(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "counted"}, {"usage": {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77}}])

    answer = chat(hub, "count", "--session", "usage")

    assert set(answer) == {"reply", "run_id", "session_key", "usage"}
    assert answer["usage"]["input_tokens"] == 70
    assert answer["usage"]["output_tokens"] == 7
    assert answer["usage"]["total_tokens"] == 77
    assert answer["usage"]["cost_usd"] == pytest.approx(0.077)


def test_files_are_written_read_edited_listed_and_searched(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue(
        call("write", path="list.md", content="milk\nbread\n"),
        call("edit", path="list.md", old_text="bread", new_text="rye bread"),
        call("read", path="list.md"),
        call("ls"),
        call("grep", pattern="rye"),
        "done",
    )

    ask(hub, "shopping", session="files")

    results = results_of(hub, "files")
    assert [result["isError"] for result in results] == [False] * 5
    assert (hub.home / "workspace" / "list.md").read_text() == "milk\nrye bread\n"
    assert "rye bread" in output(results[2])
    assert "list.md" in output(results[3])
    assert "list.md" in output(results[4])


def test_nothing_outside_the_workspace_can_be_reached(hub: HubProcess, server: OpenAIServerProcess) -> None:
    (hub.home / "workspace" / "way-out").symlink_to(hub.home / "secrets.yaml")
    server.queue(
        call("read", path="../secrets.yaml"),
        call("read", path=str(hub.home / "secrets.yaml")),
        call("read", path="way-out"),
        call("write", path="../configuration.yaml", content="mine"),
        call("grep", pattern="guarded", path=".."),
        "done",
    )

    ask(hub, "break out", session="jail")

    results = results_of(hub, "jail")
    assert [result["isError"] for result in results] == [True] * 5
    assert KEY not in json.dumps(messages_of(hub, "jail"))


def test_memory_is_kept_and_found_through_tools(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue(
        call("remember", text="The stopcock is behind the washing machine."),
        call("memory_search", query="stopcock"),
        call("session_status"),
        "done",
    )

    ask(hub, "note it", session="main")

    searched, status = results_of(hub, "main")[-2:]
    assert "washing machine" in output(searched)
    assert "test/scripted" in output(status)


def test_calls_of_one_turn_are_answered_in_the_order_they_were_made(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    for number in range(6):
        (hub.home / "workspace" / f"note-{number}.txt").write_text(f"note {number}\n" * (1 if number % 2 else 2000))
    calls = [
        {"tool_call": {"name": "read", "arguments": {"path": f"note-{number}.txt"}, "id": f"id-{number}"}}
        for number in range(6)
    ]
    server.queue([*calls, {"tool_call": {"name": "nonsense", "arguments": {}, "id": "id-6"}}], "done")

    ask(hub, "read them all", session="parallel")

    ids = [
        message["tool_call_id"] for message in server.requests()[-1]["body"]["messages"] if message["role"] == "tool"
    ]
    assert ids == [f"id-{number}" for number in range(7)]
    assert [result["toolCallId"] for result in results_of(hub, "parallel")] == ids


def test_what_a_model_gets_wrong_is_told_to_it_and_it_goes_on(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue(
        {"tool_call": {"name": "read", "arguments": '{"path": "list'}},
        {"tool_call": {"name": "read", "arguments": {"pathh": "list.md"}}},
        {"tool_call": {"name": "levitate", "arguments": {}}},
        {"tool_call": {"name": "read", "arguments": '["list.md"]'}},
        "sorry, done",
    )

    ended = ask(hub, "read the list", session="mistakes")

    assert ended["reply"] == "sorry, done"
    results = results_of(hub, "mistakes")
    assert [result["isError"] for result in results] == [True] * 4
    assert "JSON" in output(results[0])
    assert "path" in output(results[1])
    assert "levitate" in output(results[2])


def test_agents_have_their_own_workspace_model_tools_and_conversation(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    server.queue(call("write", path="soup.md", content="leek"), "done", "hello guest")

    cooked = chat(hub, "cook", "--agent", "cook")
    guest = chat(hub, "hello", "--agent", "guest")

    assert cooked["session_key"] == "agent:cook:main"
    assert guest["session_key"] == "agent:guest:main"
    assert (hub.home / "kitchen" / "soup.md").read_text() == "leek"
    asked = [request["body"] for request in server.requests()]
    assert [body["model"] for body in asked] == ["other", "other", "scripted"]
    assert {tool["function"]["name"] for tool in asked[2]["tools"]} == {"session_status"}
    assert "leek" not in json.dumps(asked[2]["messages"])


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        ({"status": 401, "body": {"error": {"message": f"Incorrect API key: {KEY}"}}}, "MODEL_AUTH", "key"),
        ({"status": 402}, "MODEL_BILLING", ""),
        ({"status": 429, "headers": {"Retry-After": "3600"}}, "MODEL_RATE_LIMITED", ""),
        ({"status": 500}, "MODEL_OVERLOADED", ""),
        ({"status": 400, "body": {"error": {"message": "bad tools", "code": "x"}}}, "MODEL_FORMAT", "bad tools"),
        ([{"text": "half an ans"}, {"disconnect": True}], "MODEL_OVERLOADED", ""),
        ([{"finish": "stop"}], "MODEL_EMPTY", ""),
    ],
    ids=["401", "402", "429", "500", "400", "cut", "empty"],
)
def test_a_model_that_fails_is_told_and_the_next_message_is_answered(
    hub: HubProcess, server: OpenAIServerProcess, answer: Any, code: str, told: str
) -> None:
    server.set_default(answer)
    failed = chat(hub, "hello", "--session", "failing", code=1)
    server.set_default("here I am")

    assert failed["error"]["code"] == code
    assert told in failed["error"]["message"]
    assert KEY not in json.dumps(failed)
    assert chat(hub, "again", "--session", "failing")["reply"] == "here I am"


def test_a_failure_that_passes_is_tried_again_by_itself(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue({"status": 429, "headers": {"Retry-After": "0"}}, "second time")

    assert chat(hub, "hello", "--session", "retry")["reply"] == "second time"


def test_a_conversation_that_is_too_long_is_shortened_and_answered(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    for number in range(4):
        ask(hub, f"long story {number} " + "and so on " * 300, session="long")
    overflow = {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}
    # The notes for memory, then the summary, then the same request again.
    server.queue({"status": 400, "body": overflow}, "NO_REPLY", SUMMARY, "shorter now")

    ended = ask(hub, "and?", session="long")

    assert ended["reply"] == "shorter now"
    refused, _notes, _summary, answered = server.requests()[-4:]
    assert answered["size_bytes"] < refused["size_bytes"]
    assert SUMMARY in json.dumps(answered["body"]["messages"], ensure_ascii=False).replace("\\n", "\n")


def test_a_server_that_is_not_there_is_told_by_name(hub: HubProcess) -> None:
    failed = chat(hub, "hello", "--agent", "lost", code=1)

    assert "nowhere" in failed["error"]["message"] or "127.0.0.1:9" in failed["error"]["message"]


def test_a_model_that_does_not_exist_is_refused_before_anything_is_asked(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    failed = ask(hub, "hello", session="nomodel", model="test/unheard-of/of")
    command = chat(hub, "/model absent/model", "--session", "nomodel")

    assert failed["status"] == "error" or server.requests()[-1]["body"]["model"] == "unheard-of/of"
    assert "/model" in command["reply"]
    assert "absent" in command["reply"]


async def test_a_run_is_stopped_and_what_was_said_stays(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "I will never "}, {"hold": "never"}])
    async with connected(hub) as client:
        sent = {"sessionKey": "stop", "message": "go on", "idempotencyKey": "stopped"}
        await client.call("chat.send", sent)
        await client.event("chat", lambda told: told["runId"] == "stopped" and told["deltaText"] != "")
        stopped = await client.call("chat.abort", {"sessionKey": "stop"})
        told = await client.event("chat", lambda told: told["runId"] == "stopped" and told["state"] != "delta")
    ended = hub.rpc("agent.wait", {"runId": "stopped"})

    assert stopped["payload"]["runIds"] == ["stopped"]
    assert told["payload"]["state"] == "aborted"
    assert (ended["status"], ended["error"]["code"], ended["reply"]) == ("error", "ABORTED", "I will never")
    until(lambda: server.requests()[0]["ended"] == "disconnected")
    assert chat(hub, "and now?", "--session", "stop")["reply"] == "ok"


def test_the_slash_command_stops_what_runs_and_new_begins_afresh(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.queue([{"text": "on and "}, {"hold": "never"}])
    hub.rpc("chat.send", {"sessionKey": "slash", "message": "go on", "idempotencyKey": "slash"})
    until(lambda: len(server.requests()) == 1)

    stop = chat(hub, "/stop", "--session", "slash")
    server.rule("Take notes of this conversation", "{}")  # of what was said before the new beginning
    server.set_default("Hello, what is it?")
    fresh = chat(hub, "/new", "--session", "slash")
    until(lambda: set(query(hub, "SELECT wanted_ms, plan FROM memory_flushes")) == {(None, None)})
    chat(hub, "hello", "--session", "slash")

    assert (stop["reply"], stop["usage"]) == ("Stopped.", None)
    assert fresh["reply"] == "Hello, what is it?"
    assert "go on" not in json.dumps(server.requests()[-1]["body"]["messages"])


def test_a_loop_ends_at_the_limit_of_turns(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default(call("ls"))

    answer = chat(hub, "look around", "--agent", "hasty", code=1)

    assert "limit" in json.dumps(answer["error"]).lower()
    assert "2" in answer["error"]["message"]
    assert len(server.requests()) == 2


def test_a_run_ends_at_the_limit_of_money(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default(call("ls"))

    answer = chat(hub, "spend", "--agent", "poor", code=1)

    assert "cost_usd" in answer["error"]["message"] or "$" in answer["error"]["message"]
    assert len(server.requests()) < 5


def test_a_run_ends_at_the_limit_of_time(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default([{"text": "slow"}, {"hold": "never"}])

    answer = chat(hub, "take your time", "--agent", "brief", code=1)

    assert "0.5" in answer["error"]["message"]


def test_messages_of_one_conversation_are_answered_in_order(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.set_default({"echo": True})
    for number in range(5):
        params = {"sessionKey": "queue", "message": f"number {number}", "idempotencyKey": f"queue-{number}"}
        hub.rpc("chat.send", {**params, "queueMode": "followup"})

    replies = [hub.rpc("agent.wait", {"runId": f"queue-{number}"})["reply"] for number in range(5)]

    assert [f"number {number}" in reply for number, reply in enumerate(replies)] == [True] * 5
    asked = [message["role"] for message in messages_of(hub, "queue")]
    assert asked == ["user", "assistant"] * 5


async def test_conversations_do_not_wait_for_each_other(hub: HubProcess, server: OpenAIServerProcess) -> None:
    server.rule("wait here", [{"hold": "gate"}, {"text": "at last"}])
    hub.rpc("chat.send", {"sessionKey": "slow", "message": "wait here", "idempotencyKey": "slow"})
    until(lambda: len(server.requests()) == 1)

    async with connected(hub) as client:
        assert await say(client, "hello", "fast", "fast") == "ok"
    server.release("gate")

    assert hub.rpc("agent.wait", {"runId": "slow"})["reply"] == "at last"


def test_a_secret_said_by_a_tool_does_not_reach_model_transcript_or_log(
    hub: HubProcess, server: OpenAIServerProcess
) -> None:
    (hub.home / "workspace" / "leak.txt").write_text(f"the key is {KEY}\n")
    server.queue(call("read", path="leak.txt"), "done")

    ask(hub, "read it", session="leak")

    assert KEY not in json.dumps(server.requests()[-1]["body"])
    assert KEY not in json.dumps(messages_of(hub, "leak"))
