"""Tools offered by nodes: used like any other, but their results count as words from outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, Length, Match, Optional, Required, Schema, string
from hub.core.slugs import slugify
from hub.nodes.commands import matches
from hub.nodes.registry import NodeRegistry
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from hub.tools.quoting import clean_schema, clean_text
from hub.tools.registry import ToolRegistry

GROUP = "nodes"
TOOLS_LIMIT = 64
NAME_LIMIT = 64
TEXT_LIMIT = 2_000
SCHEMA_LIMIT_BYTES = 16_384
MCP_COMMAND = "mcp.tools.call.v1"
TIMEOUT_S = 120.0
OFFERED = Annotations(destructive=True, open_world=True, egress=True)

_TEXT = All(string, Length(min=1, max=TEXT_LIMIT))
TOOLS_SCHEMA = Schema(
    {
        Required("tools"): All(
            [
                Schema(
                    {
                        Required("pluginId"): All(string, Length(min=1, max=128)),
                        Required("name"): All(string, Match(r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")),
                        Required("description"): _TEXT,
                        Optional("parameters"): {string: object},
                        Optional("command"): All(string, Length(min=1, max=128)),
                        Optional("mcp"): AnyOf(None, Schema({Required("server"): _TEXT, Required("tool"): _TEXT})),
                    }
                )
            ],
            Length(max=TOOLS_LIMIT),
        )
    }
)
"""`node.pluginTools.update`."""


class OfferedTools:
    """Registers the tools of nodes, and removes them when the nodes leave.

    Args:
        nodes: Asks them.
        tools: Registers them.
    """

    def __init__(self, nodes: NodeRegistry, tools: ToolRegistry) -> None:
        self._nodes = nodes
        self._tools = tools
        self._remove: dict[str, list[Callable[[], None]]] = {}

    def offer(self, node_id: str, offered: Sequence[Mapping[str, Any]]) -> None:
        """Replace the tools of a node with those that are permitted now."""
        self.withdraw(node_id)
        allowed = self._nodes.commands(node_id)
        title = self._nodes.surfaces.require(node_id).title
        added: list[Callable[[], None]] = []
        for each in offered:
            command = MCP_COMMAND if each.get("mcp") else each.get("command") or each["name"]
            if command not in allowed:
                continue
            try:
                added.append(self._tools.register(self._tool(node_id, title, command, each)))
            except HubError:  # one bad tool, or one of another node of this name, hides no other
                continue
        self._remove[node_id] = added

    def withdraw(self, node_id: str) -> None:
        """Remove the tools of a node."""
        for remove in self._remove.pop(node_id, ()):
            remove()

    def _tool(self, node_id: str, title: str, command: str, offered: Mapping[str, Any]) -> Tool:
        name = "node_" + slugify(f"{title} {offered['name']}")
        said = clean_text(offered["description"], TEXT_LIMIT)
        mcp = offered.get("mcp")

        async def run(call: ToolCall) -> ToolResult:
            params: Mapping[str, Any] = call.arguments
            if mcp is not None:
                params = {"server": mcp["server"], "tool": mcp["tool"], "arguments": dict(call.arguments)}
            answer = await self._nodes.invoke(node_id, command, params, timeout_s=TIMEOUT_S)
            return ToolResult(json.dumps(dict(answer), ensure_ascii=False), trusted=False)

        def approval(_: Mapping[str, Any], authority: Authority) -> str | None:
            if not authority.tainted and matches(self._nodes.surfaces.rules.unasked, command):
                return None
            return phrase("the node {node} does it, with a program of its own", node=title)

        return Tool(
            name[:NAME_LIMIT],
            f"Offered by the node {clean_text(title, NAME_LIMIT)}, in its words: {said}",
            from_json_schema(_schema(offered)),
            run,
            GROUP,
            OFFERED,
            approval=approval,
            timeout_s=TIMEOUT_S,
        )


def _schema(offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments.

    Raises:
        InvalidRequest: It is too large.
    """
    schema = offered.get("parameters") or {"type": "object"}
    if len(json.dumps(schema, default=str)) > SCHEMA_LIMIT_BYTES:
        raise InvalidRequest(f"its schema has more than {SCHEMA_LIMIT_BYTES} bytes")
    return dict(clean_schema(schema))
