"""Signing in to an MCP server by OAuth: a person goes there once, and the hub stays signed in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.core.errors import InvalidRequest
from hub.core.surfaces import HttpCall
from integrations.tools.mcp.coming_back import McpSignIns
from integrations.tools.mcp.connection import McpState
from integrations.tools.mcp.page import servers_page
from tests.integrations.tools.mcp.linked import HUB, linked
from tests.integrations.tools.standing import Standing
from tests.servers.oauth_server import OAuthServer
from tests.until import until


@asynccontextmanager
async def guarded() -> AsyncIterator[tuple[str, OAuthServer]]:
    """Serve an MCP server that wants a token, and the place where one gets it."""
    oauth = OAuthServer()

    async def post(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        if request.headers.get("Authorization") != f"Bearer {oauth.access_of(oauth.given)}":
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        if "id" not in message:
            return web.Response(status=202)
        info = {"name": "hall", "version": "1"}
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
            "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "signed in"}]},
        }
        if message["method"] not in results:
            error = {"code": -32601, "message": "no such method"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})

    async def resource(request: web.Request) -> web.Response:
        return web.json_response({"resource": f"{oauth.base_url}/mcp", "authorization_servers": [oauth.base_url]})

    async def metadata(request: web.Request) -> web.Response:
        places = {f"{each}_endpoint": f"{oauth.base_url}/{each}" for each in ("token", "registration")}
        more = {"issuer": oauth.base_url, "authorization_endpoint": f"{oauth.base_url}/authorize"}
        kinds = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
        return web.json_response({**places, **more, **kinds})

    async def register(request: web.Request) -> web.Response:
        return web.json_response({**await request.json(), "client_id": "registered"}, status=201)

    app = web.Application()
    app.router.add_post("/mcp", post)
    app.router.add_get("/.well-known/oauth-protected-resource/mcp", resource)
    app.router.add_get("/.well-known/oauth-authorization-server", metadata)
    app.router.add_post("/registration", register)
    app.router.add_get("/authorize", oauth.authorize)
    app.router.add_post("/token", oauth.token)
    async with TestServer(app) as server:
        oauth.base_url = str(server.make_url("")).rstrip("/")
        yield f"{oauth.base_url}/mcp", oauth


async def gone_to(address: str) -> str:
    """Go to an address as a browser does; return where it leads back."""
    async with aiohttp.ClientSession() as http, http.get(address, allow_redirects=False) as answer:
        return answer.headers["Location"]


async def test_a_person_signs_in_once_and_the_tokens_are_renewed(standing: Standing) -> None:
    async with guarded() as (url, oauth):
        oauth.life_s = 10  # less than it is renewed early: used up at once
        settings = {"hall": {"url": url, "oauth": {}}}
        async with linked(standing, settings) as servers:
            hall = servers.connections["hall"]
            assert hall.state is McpState.SIGN_IN
            assert hall.sign_in in standing.repairs.all()[0].text
            back = await gone_to(hall.sign_in)
            servers.sign_ins.complete(back)
            await until(lambda: hall.state is McpState.CONNECTED)
            said = await standing.call("mcp_hall_say")
            with pytest.raises(InvalidRequest, match="no sign-in waits"):
                servers.sign_ins.complete(back)
        async with linked(standing, settings) as servers:
            assert servers.connections["hall"].state is McpState.CONNECTED

    assert back.startswith(f"{HUB}/mcp/callback?")
    assert "signed in" in said.output
    assert standing.repairs.all() == []
    assert oauth.asked[0]["grant_type"] == "authorization_code"
    assert oauth.asked[-1]["grant_type"] == "refresh_token"


async def test_a_hub_at_another_address_registers_itself_anew(standing: Standing) -> None:
    async with guarded() as (url, _):
        async with linked(standing, {"hall": {"url": url, "oauth": {}}}):
            pass
        elsewhere = "https://hub.example.org/mcp/callback"
        async with linked(standing, {"hall": {"url": url, "oauth": {"redirect_url": elsewhere}}}):
            pass

    kept = json.loads((standing.home.storage / "integrations" / "mcp" / "tokens.json").read_text())
    assert kept[url]["client"]["redirect_uris"] == [elsewhere]


async def test_a_stranger_cannot_finish_a_sign_in() -> None:
    sign_ins = McpSignIns()
    waiting = sign_ins.begin("https://example.org/authorize?state=unguessable")

    for url in ("http://127.0.0.1/mcp/callback?code=x&state=guess", "http://127.0.0.1/mcp/callback?code=x"):
        with pytest.raises(InvalidRequest, match="no sign-in waits"):
            sign_ins.complete(url)

    assert not waiting.done()
    sign_ins.complete("http://127.0.0.1/mcp/callback?error=access_denied&state=unguessable")
    with pytest.raises(InvalidRequest, match="access_denied"):
        await waiting


async def test_the_page_shows_what_came_of_connecting(standing: Standing) -> None:
    async with guarded() as (url, _), linked(standing, {"hall": {"url": url, "oauth": {}}}) as servers:
        hall = servers.connections["hall"]
        settled = hall.settled.is_set()
        hall.settled.clear()
        page = servers_page(servers, {"enabled": False, "read_only": True})
        showing = asyncio.ensure_future(page.data(cast(HttpCall, None)))
        await asyncio.sleep(0)

        hall.state = McpState.CONNECTED
        hall.settled.set()

        assert settled
        assert (await showing)["servers"][0]["state"] == "connected"
