"""Further names of tools: in calls, and in the rules, which they do not get around."""

from __future__ import annotations

import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Conflict
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.parameters import from_schema
from hub.tools.policy import ToolRules
from hub.tools.registry import ToolRegistry
from hub.tools.schema import TOOLS_SCHEMA

OWNER = Authority("owner", "me", SCOPES, owner=True)


async def called(name: str, rules: ToolRules | None = None) -> ToolResult:
    """Call a tool of a registry that has `schedule`."""
    registry = ToolRegistry(EventBus(TaskOwner("test")), rules)

    async def run(call: ToolCall) -> ToolResult:
        return ToolResult(call.name)

    registry.register(Tool("schedule", "", from_schema({}), run, "schedule", READS_HOME))
    return await invoke_tool(registry, ToolCallRequest("c", name, {}, Context(OWNER), "main", "agent:main:main", "r"))


async def test_cron_is_the_tool_schedule() -> None:
    assert (await called("cron")).output == "schedule"


@pytest.mark.parametrize("denied", ["schedule", "cron", "CRON", "group:automation", "sched*"])
@pytest.mark.parametrize("name", ["schedule", "cron"])
async def test_what_is_denied_under_one_name_is_denied_under_the_other(name: str, denied: str) -> None:
    result = await called(name, ToolRules.from_config(TOOLS_SCHEMA({"deny": [denied]})))

    assert result.is_error


def test_no_other_tool_takes_the_name() -> None:
    registry = ToolRegistry(EventBus(TaskOwner("test")))

    with pytest.raises(Conflict, match="another name"):
        registry.register(Tool("cron", "", from_schema({}), _nothing, "test", READS_HOME))


async def _nothing(call: ToolCall) -> ToolResult:
    return ToolResult("")
