"""MCP servers connected to the real parts of a hub."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hub.core.clock import Clock
from hub.gateway.connection.server import GatewayState
from hub.security.redaction import Redactor
from integrations.tools.mcp.connection import McpState
from integrations.tools.mcp.schema import CONFIG_SCHEMA
from integrations.tools.mcp.servers import McpServers
from tests.hosting import host_on
from tests.integrations.tools.standing import Standing
from tests.until import until

HUB = "http://127.0.0.1:28789"
PROGRAM = str(Path(__file__).parents[3] / "servers" / "mcp_program.py")


def program(mode: str = "", *more: str, **keys: Any) -> dict[str, Any]:
    """Return the configuration of the small server that misbehaves in some way."""
    return {"command": sys.executable, "args": ["-I", "-S", PROGRAM, mode, *more], **keys}


@asynccontextmanager
async def linked(standing: Standing, servers: Mapping[str, Mapping[str, Any]]) -> AsyncIterator[McpServers]:
    """Connect to servers; give them when each is connected or has failed."""
    config = CONFIG_SCHEMA({"servers": {name: dict(each) for name, each in servers.items()}})
    standing.home.configuration.write_text("hub: {name: Home}\n")
    standing.config.load()
    gateway = SimpleNamespace(url=HUB, state=GatewayState.RUNNING)
    parts = {**vars(standing), "clock": Clock(), "redactor": Redactor(), "gateway": gateway}
    host, registrations = host_on(SimpleNamespace(**parts), "mcp")
    found = McpServers(host, config["servers"])
    try:
        await found.run()
        await until(lambda: all(each.state is not McpState.CONNECTING for each in found.connections.values()))
        yield found
    finally:
        await registrations.undo_all()
