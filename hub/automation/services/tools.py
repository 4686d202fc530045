"""The service `tool.invoke`: an automation uses a tool, with its own authority, under the usual checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.agent.agents import Agent, Agents
from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.events import Unsubscribe
from hub.core.ids import new_id
from hub.core.schema import All, Length, Optional, Required, Schema, slug, string
from hub.core.services import ResponseMode, ServiceCall, ServiceRegistry
from hub.sessions.keys import cron_key
from hub.tools.contract import ToolResult, ToolUpdate, no_update
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.registry import ToolRegistry

INVOKE_SCHEMA = Schema(
    {
        Required("tool", description="The name of the tool."): All(string, Length(min=1, max=64)),
        Optional("arguments", default=dict, description="Its arguments."): dict,
        Optional("agent", description="The agent to act as; its tool rules apply."): slug,
    }
)


class ToolFailed(HubError):
    """The tool returned an error, or may not be used."""

    code = "TOOL_FAILED"
    http_status = 502


async def use_tool(
    tools: ToolRegistry,
    agent: Agent,
    context: Context,
    name: str,
    arguments: Mapping[str, Any],
    *,
    redact: Callable[[str], str],
    session_key: str | None = None,
    update: ToolUpdate = no_update,
) -> ToolResult:
    """Use a tool as an agent would, for whoever calls a service.

    Args:
        session_key: The conversation that it counts for; that of automations without it.
        update: Told how it goes on.
    """
    id = new_id()
    key = session_key or cron_key(agent.id, "automation")
    request = ToolCallRequest(
        id,
        name,
        dict(arguments),
        context.child(),
        agent.id,
        key,
        f"service-{id}",
        policies=agent.tool_policies,
        update=update,
    )
    return await invoke_tool(tools, request, redact=redact)


def register_tools(
    services: ServiceRegistry, tools: ToolRegistry, agents: Agents, redact: Callable[[str], str]
) -> Unsubscribe:
    """Register `tool.invoke`; its response has `output` (the text for a model), `details` and `trusted`.

    What somebody else than the owner had a tool do, or words from outside had, is not trusted: they chose the
    arguments, and the output repeats them.

    Returns:
        A function that removes it.
    """

    async def invoke(call: ServiceCall) -> Mapping[str, Any]:
        data = call.data
        agent = agents.get(data["agent"]) if "agent" in data else agents.default()
        result = await use_tool(tools, agent, call.context, data["tool"], data["arguments"], redact=redact)
        if result.is_error:
            raise ToolFailed(result.output.removeprefix("error: "), details={"tool": data["tool"]})
        authority = call.context.authority
        trusted = result.trusted and authority.owner and not authority.tainted
        return {"output": result.output, "details": dict(result.details), "trusted": trusted}

    return services.register(
        "tool",
        "invoke",
        invoke,
        INVOKE_SCHEMA,
        ResponseMode.OPTIONAL,
        description="Use a tool as an agent would",
        open_world=True,
    )
