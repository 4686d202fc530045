"""MCP servers at an address: reached by streamable HTTP and by SSE, and only where the configuration says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.core.errors import HubError
from hub.security.egress import Egress
from integrations.tools.mcp.connection import McpState
from tests.integrations.tools.mcp.linked import linked
from tests.integrations.tools.standing import Standing
from tests.servers.mcp_server import make_server, serving
from tests.until import until

INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "old", "version": "1"},
}
TOOLS = {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}


@asynccontextmanager
async def answering(
    answer: Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]],
) -> AsyncIterator[str]:
    """Serve a server by hand: `answer` answers calls of tools."""

    async def post(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        results = {"initialize": INITIALIZED, "tools/list": TOOLS}
        if "id" not in message:
            return web.Response(status=202)
        if message["method"] in results:
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
        if message["method"] != "tools/call":
            error = {"code": -32601, "message": "no such method"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return await answer(request, message)

    app = web.Application()
    app.router.add_post("/mcp", post)
    async with TestServer(app) as server:
        yield str(server.make_url("/mcp"))


@pytest.mark.parametrize(("way", "path"), [("streamable_http_app", "/mcp"), ("sse_app", "/sse")])
async def test_a_server_of_the_sdk_works(standing: Standing, way: str, path: str) -> None:
    async with (
        serving(getattr(make_server(), way)()) as base,
        linked(standing, {"garden": {"url": f"{base}{path}"}}) as servers,
    ):
        assert servers.connections["garden"].reason == ""
        sum_ = await standing.call("mcp_garden_add", {"a": 2, "b": 3})
        soil = await standing.call("mcp_garden_resources", {"uri": "garden://soil"})
        await standing.call("mcp_garden_plant_more")
        await until(lambda: "mcp_garden_late" in servers.tools["garden"])

    assert "\n5\n" in sum_.output
    assert "moist" in soil.output


async def test_headers_of_the_configuration_are_sent(standing: Standing) -> None:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        content = [{"type": "text", "text": request.headers["Authorization"]}]
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})

    async with (
        answering(answer) as url,
        linked(standing, {"old": {"url": url, "headers": {"Authorization": "Bearer k3y"}}}),
    ):
        assert "Bearer k3y" in (await standing.call("mcp_old_say")).output


async def test_answers_that_are_too_large_compressed_or_redirects_fail(standing: Standing) -> None:
    elsewhere: list[str] = []

    async def trap(request: web.Request) -> web.Response:
        elsewhere.append(request.path)
        return web.json_response({})

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", trap)
    async with TestServer(app) as other:

        async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
            match message["params"]["arguments"]["x"]:
                case "large":
                    content = [{"type": "text", "text": "w" * 5_000_000}]
                    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
                case "gzip":
                    return web.Response(
                        body=b"x", headers={"Content-Encoding": "gzip"}, content_type="application/json"
                    )
                case "event":
                    return web.Response(body=b"data: " + b"x" * 5_000_000, content_type="text/event-stream")
            raise web.HTTPTemporaryRedirect(str(other.make_url("/mcp")))

        async with answering(answer) as url, linked(standing, {"old": {"url": url}}):
            said = {x: (await standing.call("mcp_old_say", {"x": x})) for x in ("large", "gzip", "event", "redirect")}

    assert all(each.is_error and not each.trusted for each in said.values()), said
    assert elsewhere == []


async def test_an_address_is_private_only_when_the_configuration_names_it() -> None:
    async def found(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    egress = Egress(list, found)
    async with TestServer(web.Application()) as server:
        named = f"http://box.example:{server.port}/mcp"
        async with egress.open(named, named=named) as answer:
            assert answer.status == 404
        for other in (f"http://other.example:{server.port}/mcp", "http://box.example:1/mcp", str(server.make_url("/"))):
            with pytest.raises(HubError, match="was not called"):
                async with egress.open(other, named=named):
                    pass
    await egress.close()


async def test_an_address_that_nobody_answers_at_says_why(standing: Standing) -> None:
    async with linked(standing, {"gone": {"url": "http://127.0.0.1:9/mcp"}}) as servers:
        assert servers.connections["gone"].state is McpState.FAILED
        assert "127.0.0.1" in servers.connections["gone"].reason
