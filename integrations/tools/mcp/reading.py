"""The tools for a server's resources and prompts.

Each server has its own tools for them, so that a rule for `mcp_NAME_*` covers everything of that server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from hub.core.schema import All, Length, Optional, Schema, string
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from hub.tools.quoting import clean_text
from integrations.tools.mcp.connection import McpConnection
from integrations.tools.mcp.results import answer, contents

GROUP = "mcp"
LISTED_LIMIT = 100
LINE_LIMIT = 300

_RESOURCES = Schema(
    {Optional("uri", description="The one to read; without it they are listed."): All(string, Length(min=1, max=2_048))}
)
_PROMPTS = Schema(
    {
        Optional("name", description="The one to get; without it they are listed."): All(
            string, Length(min=1, max=256)
        ),
        Optional("arguments", default=dict, description="What it is filled in with."): {str: str},
    }
)


def resource_tools(connection: McpConnection, name: Callable[[str], str]) -> Iterator[Tool]:
    """Yield the tools for what a server offers."""
    notes = Annotations(
        read_only=True,
        destructive=False,
        idempotent=True,
        owner_only=connection.settings["owner_only"],
        parallel_safe=True,
        egress=True,
    )

    async def resources(call: ToolCall) -> ToolResult:
        return await _resources(connection, call.arguments.get("uri"))

    async def prompts(call: ToolCall) -> ToolResult:
        return await _prompts(connection, call.arguments.get("name"), call.arguments["arguments"])

    server = connection.name
    for kind, schema, run in (("resources", _RESOURCES, resources), ("prompts", _PROMPTS, prompts)):
        if kind in connection.offers:
            text = f"List the {kind} of the MCP server {server}, or get one."
            yield Tool(name(kind), text, from_schema(schema), run, GROUP, notes)


async def _resources(connection: McpConnection, uri: str | None) -> ToolResult:
    from mcp import types

    if uri is not None:
        asked = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))
        found = await connection.ask(asked, types.ReadResourceResult)
        if isinstance(found, ToolResult):
            return found
        return _text("\n\n".join(contents(each) for each in _plain(found)["contents"]))
    listed = await connection.ask(types.ListResourcesRequest(params=None), types.ListResourcesResult)
    if isinstance(listed, ToolResult):
        return listed
    lines = [_line(each, "uri") for each in _plain(listed)["resources"]]
    templates = await connection.ask(types.ListResourceTemplatesRequest(params=None), types.ListResourceTemplatesResult)
    if not isinstance(templates, ToolResult):
        lines += [_line(each, "uriTemplate") for each in _plain(templates)["resourceTemplates"]]
    return _text("\n".join(lines[:LISTED_LIMIT]) or "It has none.")


async def _prompts(connection: McpConnection, name: str | None, arguments: dict[str, str]) -> ToolResult:
    from mcp import types

    if name is not None:
        asked = types.GetPromptRequest(params=types.GetPromptRequestParams(name=name, arguments=arguments))
        found = await connection.ask(asked, types.GetPromptResult)
        if isinstance(found, ToolResult):
            return found
        return answer(
            block
            for each in _plain(found)["messages"]
            for block in ({"type": "text", "text": f"{each['role']}:"}, each["content"])
        )
    listed = await connection.ask(types.ListPromptsRequest(params=None), types.ListPromptsResult)
    if isinstance(listed, ToolResult):
        return listed
    lines = [
        f"{_line(each, 'name')} {orjson.dumps([given['name'] for given in each.get('arguments', [])]).decode()}"
        for each in _plain(listed)["prompts"]
    ]
    return _text("\n".join(lines[:LISTED_LIMIT]) or "It has none.")


def _plain(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _line(each: dict[str, Any], key: str) -> str:
    return clean_text(f"{each[key]}: {each.get('description') or each.get('title') or ''}", LINE_LIMIT)


def _text(text: str) -> ToolResult:
    return ToolResult(text, trusted=False)
