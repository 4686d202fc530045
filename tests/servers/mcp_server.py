"""An MCP server made with the protocol's own SDK, over stdio when it is run, over HTTP and SSE in a test's loop."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.types import Image
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def make_server() -> MCPServer:
    """Return a server with one thing of each kind."""
    server = MCPServer("garden", instructions="Ask about plants.")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def picture() -> Image:
        """Show a picture."""
        return Image(data=PIXEL, format="png")

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ToolError("the well is dry")

    @server.tool(name="Plant.More")
    async def more(ctx: Context) -> str:
        """Have another tool from now on."""

        def late() -> str:
            """A tool that came later."""
            return "late"

        server.add_tool(late)
        await ctx.notify_tools_changed()  # to those who speak the newer protocol
        await ctx.session.send_tool_list_changed()
        return "planted"

    @server.resource("garden://soil", title="Soil")
    def soil() -> str:
        return "moist"

    @server.prompt()
    def greet(name: str) -> str:
        """Greet a plant."""
        return f"Hello, {name}!"

    return server


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application on a port of its own; give its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listening.close()


if __name__ == "__main__":
    make_server().run("stdio")
