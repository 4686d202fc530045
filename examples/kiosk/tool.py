"""A tool: something that agents can do.

A tool's annotations default to the least safe: say `read_only=True`, `owner_only=False` and so on only when they are
true; `READS_HOME` is for a tool that only looks at what this home has. Say `egress=False` only when no argument can
leave this home by it: under words from outside, all else asks the owner. What a tool returns with `trusted=False` is
shown to the model as words from outside and taints the session. One that takes long shows people what there is of its
result with `call.update(output)`. Parameters that come as JSON Schema, such as those of another program's tools, are
given with `from_json_schema(schema)`.

The contract: `hub/tools/contract.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import Optional, Schema, integer
from hub.host import IntegrationHost
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Offer the tool to the agents."""

    async def ring(call: ToolCall) -> ToolResult:
        times = min(call.arguments["times"], config["most_rings"])
        host.bus.fire("kiosk_rang", {"times": times}, call.context)
        return ToolResult(f"The bell rang {times} times.")

    host.tools.add(
        Tool(
            name="ring_kiosk",
            description="Ring the bell of the Kiosk.",
            parameters=from_schema(Schema({Optional("times", default=1): integer})),
            run=ring,
            group="home",
            annotations=Annotations(destructive=False, open_world=False, owner_only=False, egress=False),
        )
    )
