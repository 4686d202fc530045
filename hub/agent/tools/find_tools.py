"""Tools that are not described in the prompt: found by their purpose, and called by name.

The described tools stay the same from turn to turn, so that a provider's cache of them holds. A call by `use_tool` is
taken for a call of the tool it names, with its policy, approval and limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import orjson

from hub.agent.agents import Agents
from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.core.schema import All, Length, Required, Schema, string
from hub.models.contract import ToolCallBlock
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.registry import ToolRegistry

FIND_TOOLS = "find_tools"
USE_TOOL = "use_tool"
FINDERS = frozenset({FIND_TOOLS, USE_TOOL})
GROUP = "session"
FOUND_LIMIT = 5
NAME_WEIGHT = 3.0
"""A word in a tool's name counts as much as so many in its description."""
FIRST = (
    *("session_status", "read", "write", "edit", "remember", "memory_search", "skill", "get_state", "home"),
    *("call_service", "schedule", "message"),
)
"""The tools that are described first, then those of these groups."""
GROUPS = ("session", "files", "memory", "home", "schedule", "message", "skills")

_WORDS = LazyPattern(r"[a-z0-9]+|[\u3400-\u9fff]")
_FIND = Schema({Required("query", description="What you want to do."): All(string, Length(min=1, max=300))})
_USE = Schema(
    {
        Required("name", description="As find_tools says it."): All(string, Length(min=1, max=64)),
        Required("arguments", description="Its arguments, by their names."): dict,
    }
)


def up_front(tools: Sequence[Tool], limit: int) -> tuple[list[Tool], list[Tool]]:
    """Return the tools that are described, in order, and those to be found."""
    extra = sum(tool.name in FINDERS for tool in tools)
    if len(tools) - extra <= limit or extra < 2:
        return list(tools), []
    ranks = {name: rank for rank, name in enumerate(GROUPS)}
    names = {name: rank for rank, name in enumerate((*sorted(FINDERS), *FIRST))}
    wanted = sorted(tools, key=lambda tool: (names.get(tool.name, len(names)), ranks.get(tool.group, len(ranks))))
    chosen = {tool.name for tool in wanted[: limit + extra]}
    return [tool for tool in tools if tool.name in chosen], [tool for tool in tools if tool.name not in chosen]


def search_tools(tools: Sequence[Tool], query: str, limit: int = FOUND_LIMIT) -> list[Tool]:
    """Return the tools whose names and descriptions best match a query, best first."""
    asked = set(_words(query))
    known = [(tool, _words(tool.name.replace("_", " ")), _words(tool.description)) for tool in tools]
    spread: dict[str, int] = {}
    for _, name, description in known:
        for word in {*name, *description}:
            spread[word] = spread.get(word, 0) + 1
    scored = []
    for tool, name, description in known:
        score = sum(
            math.log(1 + len(known) / spread[word]) * ((NAME_WEIGHT if word in name else 0) + (word in description))
            for word in asked
            if word in spread
        )
        if score > 0:
            scored.append((-score, tool.name, tool))
    return [tool for _, _, tool in sorted(scored, key=lambda each: each[:2])[:limit]]


def resolve_call(call: ToolCallBlock) -> ToolCallBlock:
    """Return the intended call: that of the tool named in `use_tool`, else the call itself."""
    if call.name != USE_TOOL or call.malformed is not None:
        return call
    name, arguments = call.arguments.get("name"), call.arguments.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments or "{}")
        except ValueError:
            return call
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return call
    return ToolCallBlock(call.id, name, arguments)


def tools_to_find(registry: ToolRegistry, agents: Agents) -> tuple[Tool, Tool]:
    """Return `find_tools` and `use_tool`."""

    async def find(call: ToolCall) -> ToolResult:
        authority = call.context.authority
        policies = agents.get(call.agent_id).policies_in(call.session_key, authority, registry.rules, None)
        tools = registry.available(authority, policies)
        found = search_tools([tool for tool in tools if tool.name not in FINDERS], call.arguments["query"])
        if not found:
            return ToolResult("No tool fits that; try other words.")
        return ToolResult("\n\n".join(_described(tool) for tool in found))

    async def use(call: ToolCall) -> ToolResult:
        raise InvalidRequest("use_tool: expected the name of another tool, and an object with its arguments")

    return (
        Tool(FIND_TOOLS, "Find further tools by what you want to do.", from_schema(_FIND), find, GROUP, READS_HOME),
        Tool(USE_TOOL, "Call a tool that find_tools named.", from_schema(_USE), use, GROUP, READS_HOME),
    )


def _described(tool: Tool) -> str:
    return f"{tool.name}: {tool.description}\narguments: {orjson.dumps(tool.parameters.json_schema).decode()}"


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())
