"""A server's tool definition, and the parts of it that are trusted and shown: all of it is words from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from hub.core.errors import InvalidRequest
from hub.tools.contract import Annotations
from hub.tools.quoting import clean_schema, clean_text

if TYPE_CHECKING:
    from mcp.types import Tool as McpTool

TOOL_NAME_LENGTH = 64
HASH_LENGTH = 6
DESCRIPTION_LIMIT = 2_000
SCHEMA_LIMIT_BYTES = 16_384

_NO_NAME = re.compile(r"[^a-z0-9]+")


def tool_name(server: str, tool: str, taken: Mapping[str, object]) -> str:
    """Return the agents' name for a tool: `mcp_SERVER_TOOL`, with part of a hash if that is not unique."""
    name = f"mcp_{_plain(server)}_{_plain(tool)}"
    if len(name) <= TOOL_NAME_LENGTH and name not in taken:
        return name
    mark = sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:HASH_LENGTH]
    return f"{name[: TOOL_NAME_LENGTH - HASH_LENGTH - 1]}_{mark}"


def is_offered(tool: str, filters: Mapping[str, Any]) -> bool:
    """Whether the configuration allows a tool, by its server's name for it."""
    allow = filters.get("allow")
    if any(fnmatchcase(tool, each) for each in filters.get("deny", ())):
        return False
    return allow is None or any(fnmatchcase(tool, each) for each in allow)


def describe_tool(server: str, tool: McpTool) -> str:
    """Return a tool's description for the model, which says whose words it is."""
    own = clean_text(tool.description or tool.title or "", DESCRIPTION_LIMIT)
    return f"A tool of the MCP server {server}, in its words: {own}" if own else f"A tool of the MCP server {server}."


def parameters(tool: McpTool) -> dict[str, Any]:
    """Return the schema of a tool's arguments, with its texts cleaned.

    Raises:
        InvalidRequest: It is larger than 16 KiB.
    """
    schema = tool.input_schema
    try:
        size = len(orjson.dumps(schema))
    except (TypeError, ValueError) as error:
        raise InvalidRequest("its schema is not plain JSON") from error
    if size > SCHEMA_LIMIT_BYTES:
        raise InvalidRequest(f"its schema has {size} bytes; at most {SCHEMA_LIMIT_BYTES} are accepted")
    found: dict[str, Any] = clean_schema(schema)
    return found


def risks(tool: McpTool, *, trusted: bool, owner_only: bool) -> Annotations:
    """Return how risky a tool is: at its worst, unless the owner trusts the server, whose hints then count."""
    hints = tool.annotations
    if not trusted or hints is None:
        return Annotations(owner_only=owner_only, egress=True)
    reads, closed = hints.read_only_hint is True, hints.open_world_hint is False
    return Annotations(
        read_only=reads,
        destructive=not reads and hints.destructive_hint is not False,
        idempotent=reads or hints.idempotent_hint is True,
        open_world=not closed,
        owner_only=owner_only,
        parallel_safe=reads,
        egress=not closed,
    )


def fingerprint(tool: McpTool) -> str:
    """Return a hash of a tool's definition; another hash means that the tool may have changed."""
    said = tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "icons"})
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _plain(name: str) -> str:
    return _NO_NAME.sub("_", name.lower()).strip("_") or "x"
