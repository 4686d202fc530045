"""Hooks of an integration in a run: before the prompt, around its tools, and at its end."""

from __future__ import annotations

from typing import Any

from hub.hooks.contract import AgentEnd, BeforePromptBuild, BeforeToolCall
from hub.hooks.tool_calls import ToolCallHooks
from tests.agent.house import TEXT, AgentHouse
from tests.hosting import host_on
from tests.servers.openai_server import OpenAIServer


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
    await house.hooks.drain(5)

    assert house.said()[2] == ("toolResult", "error: echo was not done: echo is for the day")
    assert [(each.name, each.is_error) for each in told] == [("echo", True)]
    assert [(each.status, each.reply) for each in ended] == [("ok", "Not now, then.")]
