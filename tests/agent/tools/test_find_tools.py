"""Few tools are described; the others are found by what one wants to do, and called at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hub.agent.tools.find_tools import FINDERS, resolve_call, search_tools, tools_to_find, up_front
from hub.agent.tools.hub_docs import hub_docs_tools
from hub.models.contract import ToolCallBlock
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from tests.agent.house import CHANGING, TEXT, AgentHouse
from tests.servers.openai_server import OpenAIServer


async def nothing(_: ToolCall) -> ToolResult:
    return ToolResult("")


def tool(name: str, description: str = "", group: str = "other") -> Tool:
    return Tool(name, description, from_json_schema({"type": "object"}), nothing, group, READS_HOME)


def described(request: dict[str, Any]) -> list[str]:
    return [each["function"]["name"] for each in request["body"]["tools"]]


def call(name: str, /, **arguments: object) -> dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": arguments}}


def furnish(house: AgentHouse, limit: int) -> None:
    house.agents.configure([{"id": "main", "prompt": {"tools_up_front": limit}, "tools": {"deny": ["secret_dance"]}}])
    for each in tools_to_find(house.tools, house.agents):
        house.tools.register(each)
    for each in [tool(f"filler_{at}", "Fills.", "files") for at in range(3)]:
        house.tools.register(each)
    house.tool("paint_wall", lambda call: f"painted {call.arguments['text']}", parameters=TEXT)
    house.tool("secret_dance", lambda _: "danced")


def test_few_tools_are_all_described_and_many_by_their_groups() -> None:
    finders = [tool(name, group="session") for name in sorted(FINDERS)]
    tools = [
        *finders,
        *(tool(f"mcp_{at}", group="mcp") for at in range(5)),
        *(tool(f"f{at}", group="files") for at in range(3)),
    ]

    assert up_front(tools, 8) == (tools, [])
    assert up_front(tools[2:], 1) == (tools[2:], [])  # nobody could find the others
    shown, found = up_front(tools, 4)
    assert [each.name for each in shown] == ["find_tools", "use_tool", "mcp_0", "f0", "f1", "f2"]
    assert len(found) == 4


def test_a_tool_is_found_by_its_name_before_its_description() -> None:
    tools = [
        tool("browser_open", "Open a page."),
        tool("page_read", "Show text."),
        tool("light_on", "Turn a light on."),
        tool("天气", "查询天气"),
    ]

    assert [each.name for each in search_tools(tools, "read a page please")] == [
        "page_read",
        "browser_open",
        "light_on",
    ]
    assert [each.name for each in search_tools(tools, "今天天气")] == ["天气"]
    assert search_tools(tools, "quantum") == []
    assert len(search_tools([tool(f"x_{at}", "same") for at in range(9)], "same")) == 5


def test_a_call_by_use_tool_is_one_of_the_named_tool() -> None:
    meant = ToolCallBlock("a", "paint", {"text": "x"})

    assert resolve_call(ToolCallBlock("a", "use_tool", {"name": "paint", "arguments": {"text": "x"}})) == meant
    assert resolve_call(ToolCallBlock("a", "use_tool", {"name": "paint", "arguments": '{"text": "x"}'})) == meant
    for odd in (ToolCallBlock("a", "use_tool", {"name": 1}), ToolCallBlock("a", "use_tool", {}, "{"), meant):
        assert resolve_call(odd) is odd


async def test_a_tool_that_is_not_described_is_found_and_used(house: AgentHouse, openai_server: OpenAIServer) -> None:
    furnish(house, 3)
    openai_server.queue(
        [call("find_tools", query="paint the wall or dance")],
        [call("use_tool", name="paint_wall", arguments={"text": "blue"})],
        "done",
    )

    await house.runner.run(house.request())

    first, _, last = openai_server.requests()
    assert "paint_wall" not in described(first)
    assert {"find_tools", "use_tool"} <= set(described(first))
    assert "## More tools" in first["body"]["messages"][0]["content"]
    assert first["body"]["tools"] == last["body"]["tools"]
    found = house.transcript()[2][1]
    assert found.startswith("paint_wall: Does paint_wall.\narguments: ")
    assert "secret_dance" not in found
    assert house.transcript()[4][1] == "painted blue"
    assert [each["name"] for each in house.told("run_tool_started")] == ["find_tools", "paint_wall"]


async def test_use_tool_is_bound_by_the_rules_of_the_tool_it_names(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    furnish(house, 3)
    house.tool("change", lambda _: "changed", CHANGING)
    openai_server.queue(
        [call("use_tool", name="secret_dance", arguments={})],
        [call("use_tool", name="change", arguments={})],
        [call("use_tool", name="use_tool", arguments={"name": "change", "arguments": {}})],
        "done",
    )

    await house.runner.run(house.request(authority=house.people.owner_authority().narrow(tainted=True)))

    denied, tainted, nested = [text for role, text in house.transcript() if role == "toolResult"]
    assert "switched off in the configuration" in denied
    assert "needs the owner's approval" in tainted
    assert "expected the name of another tool" in nested


async def test_with_few_tools_there_is_nothing_to_find(house: AgentHouse, openai_server: OpenAIServer) -> None:
    furnish(house, 20)

    await house.runner.run(house.request())

    (request,) = openai_server.requests()
    assert not FINDERS & set(described(request))
    assert "## More tools" not in json.dumps(request["body"])


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({}, "memory: Remembering"),
        ({"page": "memory"}, "# Remembering\n\nThe notes are kept."),
        ({"find": "notes kept"}, "memory:3 The notes are kept."),
        ({"find": "zebra"}, "No line has these words."),
        ({"page": "nowhere"}, "error: there is no page nowhere; there are: memory"),
        ({"page": "../secrets"}, "error: "),
    ],
)
async def test_the_documentation_is_read_and_searched(
    house: AgentHouse, openai_server: OpenAIServer, tmp_path: Path, arguments: dict[str, str], shown: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "memory.md").write_text("# Remembering\n\nThe notes are kept.\n")
    for each in hub_docs_tools(tmp_path / "docs"):
        house.tools.register(each)
    openai_server.queue([call("hub_docs", **arguments)], "ok")

    await house.runner.run(house.request())

    assert house.transcript()[2][1].startswith(shown)


def test_without_documentation_there_is_no_such_tool(tmp_path: Path) -> None:
    assert hub_docs_tools(tmp_path / "nowhere") == []
