"""Calculator: the tool `calculator`, which computes arithmetic and executes nothing else.

The grammar of expressions is in `arithmetic.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.schema import All, Length, Required, Schema, string
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.calculator.arithmetic import EXPRESSION_CHARS, compute

if TYPE_CHECKING:
    from hub.host import IntegrationHost

SCHEMA = Schema(
    {
        Required("expression", description="Such as (12.5 + 7) * 3, 2**64, sqrt(2), sin(pi/6)."): All(
            string, Length(min=1, max=EXPRESSION_CHARS)
        )
    }
)


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool."""

    async def run(call: ToolCall) -> ToolResult:
        return ToolResult(compute(call.arguments["expression"]))

    host.tools.add(
        Tool(
            "calculator",
            "Compute arithmetic: + - * / // % **, parentheses, functions such as sqrt, log, sin, round, min and max.",
            from_schema(SCHEMA),
            run,
            "calculator",
            READS_HOME,
        )
    )
