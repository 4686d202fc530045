"""What of a server's words about its tools is believed: nothing that makes them less strict, unless it is trusted."""

from __future__ import annotations

import pytest
from mcp_types import Tool, ToolAnnotations

from hub.core.schema import SchemaError, describe_error
from hub.tools.contract import Annotations
from integrations.tools.mcp.definition import risks, tool_name
from integrations.tools.mcp.schema import CONFIG_SCHEMA

HARMLESS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)


def tool(hints: ToolAnnotations | None) -> Tool:
    return Tool(name="t", input_schema={"type": "object"}, annotations=hints)


def test_hints_of_a_server_count_only_when_it_is_trusted() -> None:
    assert risks(tool(HARMLESS), trusted=False, owner_only=True) == Annotations()
    assert risks(tool(None), trusted=True, owner_only=True) == Annotations()

    believed = risks(tool(HARMLESS), trusted=True, owner_only=False)
    assert (believed.read_only, believed.destructive, believed.egress, believed.open_world) == (
        True,
        False,
        False,
        False,
    )


def test_names_are_those_of_tools_and_unique() -> None:
    taken = {"mcp_my_box_read_file": None}

    assert tool_name("my-box", "Read.File", {}) == "mcp_my_box_read_file"
    again, long = tool_name("my_box", "read file", taken), tool_name("x" * 24, "y" * 128, {})
    assert again.startswith("mcp_my_box_read_file_")
    assert again not in taken
    assert len(long) == 64
    assert long != tool_name("x" * 24, "y" * 129, {})
    assert tool_name("box", "读", {}) == "mcp_box_x"


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({}, "expected either command, a program, or url"),
        ({"command": "a", "url": "https://example.org"}, "expected either command, a program, or url"),
        ({"command": "a", "headers": {"A": "b"}}, "headers belongs to a server with url"),
        ({"url": "https://example.org", "args": []}, "args belongs to a server with command"),
        ({"url": "ftp://example.org"}, "url"),
        ({"command": "a", "env": {"A B": "b"}}, "environment variable"),
        ({"command": "a", "tols": {}}, "tols"),
    ],
)
def test_a_server_that_cannot_be_is_refused(server: dict[str, object], problem: str) -> None:
    with pytest.raises(SchemaError) as refused:
        CONFIG_SCHEMA({"servers": {"one": server}})

    assert problem in describe_error(refused.value)
