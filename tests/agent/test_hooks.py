"""Hooks of an integration in a run: before the prompt, around its tools, and at its end."""

from __future__ import annotations

from typing import Any

from hub.hooks.contract import AgentBootstrap, AgentEnd, BeforePromptBuild, BeforeToolCall
from hub.hooks.tool_calls import ToolCallHooks
from tests.agent.house import MAIN, TEXT, AgentHouse
from tests.hosting import host_on
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S


async def test_an_integration_adds_to_the_prompt_until_it_is_unloaded(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue("one", "two")
    host, registrations = host_on(house, "notes")

    def say(payload: BeforePromptBuild) -> dict[str, str]:
        return {"append": f"You were asked {payload.text!r} of {payload.model}."}

    host.hooks.add("before_prompt_build", say)
    await house.runner.run(house.request("first"))
    await registrations.undo_all()
    await house.runner.run(house.request("second"))

    first, second = (each["body"]["messages"][0]["content"] for each in openai_server.requests())
    assert first == f"{second}\n\nYou were asked 'first' of test/model."


async def test_a_hook_refuses_a_tool_and_another_sees_the_end(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"tool_call": {"name": "echo", "arguments": {"text": "hi"}, "id": "c1"}}], "Not now, then.")
    house.tools.around = ToolCallHooks(house.hooks)
    house.tool("echo", lambda call: call.arguments["text"], parameters=TEXT)
    host, _ = host_on(house, "notes")
    ended: list[AgentEnd] = []
    told: list[Any] = []

    async def refuse(payload: BeforeToolCall) -> dict[str, str]:
        return {"block": f"{payload.name} is for the day"}

    host.hooks.add("before_tool_call", refuse)
    host.hooks.add("after_tool_call", told.append)
    host.hooks.add("agent_end", ended.append)
    await house.runner.run(house.request("say hi"))
    await house.hooks.drain(LIMIT_S)

    assert house.transcript()[2] == ("toolResult", "error: echo was not done: echo is for the day")
    assert [(each.name, each.is_error) for each in told] == [("echo", True)]
    assert [(each.status, each.reply) for each in ended] == [("ok", "Not now, then.")]


async def test_a_hook_chooses_the_model_and_the_prompt_and_sees_what_is_said(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue("fine")
    host, _ = host_on(house, "notes")
    told: list[Any] = []
    host.hooks.add("before_model_resolve", lambda payload: {"model": "test/other"})
    host.hooks.add("before_agent_start", lambda payload: {"system": f"Be brief, {payload.model}."})
    for name in ("llm_input", "llm_output", "session_start"):
        host.hooks.add(name, told.append)

    await house.runner.run(house.request("how are you?"))
    await house.hooks.drain(LIMIT_S)

    asked = openai_server.requests()[0]["body"]
    assert (asked["model"], asked["messages"][0]["content"]) == ("other", "Be brief, test/other.")
    seen = {each.hook: each for each in told}
    assert (seen["session_start"].session_key, seen["session_start"].reason) == (MAIN, "created")
    assert (seen["llm_input"].system, seen["llm_input"].model) == ("Be brief, test/other.", "test/other")
    assert seen["llm_input"].messages[-1].text.endswith("how are you?")
    assert (seen["llm_output"].text, seen["llm_output"].tools) == ("fine", [])


async def test_a_model_that_a_hook_makes_up_is_an_error_of_the_run(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    host, _ = host_on(house, "notes")
    host.hooks.add("before_model_resolve", lambda payload: {"model": "nowhere/unknown"})

    result = await house.runner.run(house.request("how are you?"))

    assert result.status == "error"
    assert openai_server.requests() == []


async def test_what_is_kept_of_a_tool_result_is_what_the_model_reads(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue([{"tool_call": {"name": "echo", "arguments": {"text": "hi"}, "id": "c1"}}], "Done.")
    house.tool("echo", lambda call: call.arguments["text"] * 100, parameters=TEXT)
    host, _ = host_on(house, "notes")

    async def later(payload: object) -> dict[str, str]:
        return {"output": "never"}

    host.hooks.add("tool_result_persist", lambda payload: {"output": payload.output[:4]})
    host.hooks.add("tool_result_persist", later, priority=-1)
    await house.runner.run(house.request("say hi"))

    assert ("toolResult", "hihi") in house.transcript()
    assert openai_server.requests()[1]["body"]["messages"][-1]["content"] == "hihi"


async def test_what_is_written_of_a_message_is_what_the_model_reads_and_people_hear(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    call = {"tool_call": {"name": "echo", "arguments": {"text": "4711"}, "id": "c1"}}
    openai_server.queue([call], "It is 4711.")
    house.tool("echo", lambda call: call.arguments["text"], parameters=TEXT)
    host, _ = host_on(house, "notes")
    host.hooks.add("before_message_write", lambda payload: {"text": payload.text.replace("4711", "****")})

    result = await house.runner.run(house.request("the code is 4711"))

    assert result.reply == "It is ****."
    assert [text for _, text in house.transcript()] == ["the code is ****", "", "****", "It is ****."]
    assert "the code is ****" in openai_server.requests()[0]["body"]["messages"][-1]["content"]


async def test_a_message_of_which_nothing_is_left_is_still_there(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue("fine")
    host, _ = host_on(house, "notes")
    host.hooks.add("before_message_write", lambda payload: {"text": ""} if payload.role == "user" else None)

    await house.runner.run(house.request("the code is 4711"))

    assert house.transcript() == [("user", "[removed by a hook]"), ("assistant", "fine")]


async def test_a_hook_chooses_the_files_in_the_prompt(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue("fine", "fine")
    host, _ = host_on(house, "notes")

    def choose(payload: AgentBootstrap) -> dict[str, object]:
        kept = {name: text for name, text in payload.files.items() if name == "AGENTS.md"}
        return {"files": {**kept, "HOUSE.md": "The gate is green."}}

    await house.runner.run(house.request("first"))
    host.hooks.add("agent:bootstrap", choose)
    await house.runner.run(house.request("second"))

    before, after = (each["body"]["messages"][0]["content"] for each in openai_server.requests())
    assert "### SOUL.md" in before
    assert "### AGENTS.md" in after
    assert "### SOUL.md" not in after
    assert after.endswith("### HOUSE.md\nThe gate is green.")


async def test_the_two_sides_of_a_reset_and_of_a_compaction_are_observed(house: AgentHouse) -> None:
    host, _ = host_on(house, "notes")
    told: list[Any] = []
    for name in ("session_start", "session_end", "before_compaction", "after_compaction", "gateway_start"):
        host.hooks.add(name, told.append)
    facts = {"agent_id": "main", "session_key": MAIN, "run_id": None, "reason": "manual", "tokens_before": 9}

    await house.sessions.ensure(MAIN)
    await house.sessions.reset(MAIN)
    house.bus.fire("compaction_started", facts)
    house.bus.fire("compaction_finished", {**facts, "tokens_after": 3, "messages": 2})
    house.bus.fire("compaction_finished", {**facts, "error": "it was stopped"})
    house.bus.fire("hub_started", {"version": "1", "recovery": False})
    await house.hooks.drain(LIMIT_S)

    assert sorted((each.hook, each.reason) for each in told if each.hook.startswith("session")) == [
        ("session_end", "reset"),
        ("session_start", "created"),
        ("session_start", "reset"),
    ]
    after = [(each.tokens_after, each.error) for each in told if each.hook == "after_compaction"]
    assert sorted(after, key=str) == [(3, None), (None, "it was stopped")]
    assert [each.version for each in told if each.hook == "gateway_start"] == ["1"]
