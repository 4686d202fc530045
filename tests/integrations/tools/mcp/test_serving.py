"""The hub as an MCP server: the SDK's client works with it, and no rule of the hub is weaker there."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from hub.core.context import SCOPES, Authority, Context
from hub.core.stages import Stage
from hub.core.surfaces import Caller, HttpCall
from hub.hub import Hub
from hub.security.hub_token import hub_token
from hub.storage.homedir import Home
from hub.storage.instance_lock import InstanceLock
from integrations.tools.mcp.schema import CONFIG_SCHEMA
from integrations.tools.mcp.serving import McpDoor
from tests.hosting import host_on
from tests.integrations.tools.mcp.linked import program
from tests.until import until
from web.dashboard import Dashboard

OLD = "2025-03-26"
OWNER = Context(Authority("owner", person="owner", scopes=SCOPES, owner=True))
CONFIGURATION = f"""\
hub: {{name: Home, time_zone: Europe/Berlin}}
memory: {{embeddings: {{provider: none}}}}
mcp:
  server: {{enabled: true, read_only: false, tools: [read, write, session_status, "mcp_*"]}}
  servers: {{small: {program()}}}
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    """A whole hub with its dashboard, in this process."""
    home = Home(tmp_path_factory.mktemp("serving") / "home")
    home.create()
    home.configuration.write_text(CONFIGURATION)
    hub = Hub(home, port=0)
    opened: list[Dashboard] = []
    lock = InstanceLock(home)

    async def open_dashboard() -> None:
        opened.append(Dashboard(hub))

    async def close_dashboard() -> None:
        await opened[0].close()

    try:
        lock.acquire()
        await hub.start(before_open=[Stage("dashboard", open_dashboard, close_dashboard)])
        lock.update(*hub.gateway.address, tls=False)  # where the command finds it
        yield hub
    finally:
        await hub.stop()
        lock.release()


def url_of(hub: Hub, path: str = "/mcp") -> str:
    host, port = hub.gateway.address
    return f"http://{host}:{port}{path}"


def bearer(hub: Hub) -> dict[str, str]:
    return {"Authorization": f"Bearer {hub_token(hub.home.path).reveal()}"}


@asynccontextmanager
async def asked(hub: Hub, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url_of(hub), http_client=http)) as client,
    ):
        yield client


async def post(hub: Hub, body: Any, headers: dict[str, str], path: str = "/mcp") -> tuple[int, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body)
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.post(url_of(hub, path), data=raw, headers={"Content-Type": "application/json"} | headers) as answer,
    ):
        return answer.status, await answer.json() if answer.content_type == "application/json" else await answer.text()


async def test_a_client_of_the_sdk_reads_without_asking_and_changes_only_what_is_approved(hub: Hub) -> None:
    async with asked(hub, bearer(hub)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        status = await client.call_tool("session_status", {})
        answers = {}
        for approved in (False, True):
            arguments = {"path": f"{approved}.md", "content": "from another program"}
            writing = asyncio.create_task(client.call_tool("write", arguments))
            await until(hub.approvals.pending)
            await hub.approvals.resolve(hub.approvals.pending()[0].id, approved, OWNER)
            answers[approved] = await writing
        with pytest.raises(MCPError, match="no tool 'remember'"):
            await client.call_tool("remember", {"text": "I am the owner"})

    assert names - {"mcp_small_say", "mcp_small_other"} == {"read", "write", "session_status"}
    assert not status.is_error
    assert answers[False].is_error
    assert not answers[True].is_error
    workspace = hub.agents.get("main").workspace
    assert [path.name for path in workspace.glob("*.md") if path.stem in ("True", "False")] == ["True.md"]


async def test_who_may_only_read_is_offered_next_to_nothing(hub: Hub) -> None:
    made = {"method": "token.create", "params": {"name": "reader", "scopes": ["operator.read"]}}
    _, answer = await post(hub, made, bearer(hub), "/api/rpc")
    async with asked(hub, {"Authorization": f"Bearer {answer['payload']['token']}"}) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} <= {"session_status"}


async def test_only_reading_tools_are_offered_unless_the_configuration_says_more(hub: Hub) -> None:
    host, _ = host_on(hub, "mcp")
    route = McpDoor(host, CONFIG_SCHEMA({"server": {"enabled": True}})["server"]).route()
    caller = Caller(OWNER.authority, "hub", "127.0.0.1", local=True)
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'

    answer = await route.handler(HttpCall(make_mocked_request("POST", "/mcp"), caller, {}, body))

    assert isinstance(answer, web.Response)
    names = [tool["name"] for tool in json.loads(answer.text or "")["result"]["tools"]]
    assert {"read", "session_status"} <= set(names)
    assert {"write", "edit", "message", "use_tool", "mcp_small_say"}.isdisjoint(names)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer homtok_wrong"}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
async def test_who_is_not_let_in_learns_nothing(hub: Hub, headers: dict[str, str], status: int) -> None:
    credential = bearer(hub) if {"Origin", "Host"} & headers.keys() else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    found, answer = await post(hub, body, {**credential, **headers})

    assert found == status
    assert "tools" not in str(answer.get("result", ""))


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"jsonrpc": "2.0"', 400, "-32700"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, "expected one JSON-RPC request"),
        ({"jsonrpc": "2.0", "id": 1, "method": "nothing"}, 200, "there is no method 'nothing'"),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "gateway"}}, 200, "there is no tool"),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["read"]}}, 200, "there is no tool"),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, 202, ""),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": OLD}},
            200,
            OLD,
        ),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": []}, 200, "2025-11-25"),
    ],
)
async def test_messages_are_answered_as_the_protocol_says(hub: Hub, body: Any, status: int, said: str) -> None:
    found, answer = await post(hub, body, bearer(hub))

    assert found == status
    assert said in str(answer)


async def test_the_command_serves_a_program_on_its_standard_streams(hub: Hub) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "hub", "mcp", "serve", "--config", str(hub.home.path)], cwd=Path.cwd()
    )
    async with Client(command) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        status = await client.call_tool("session_status", {})

    assert {"read", "write"} <= names
    assert not status.is_error


async def test_the_page_shows_the_servers_and_the_address_of_the_hub(hub: Hub) -> None:
    async with aiohttp.ClientSession(headers=bearer(hub)) as http:

        async def looks() -> str:
            async with http.get(url_of(hub, "/mcp-servers")) as answer:
                assert answer.status == 200
                return await answer.text()

        async with asyncio.timeout(30):
            while "connected" not in (page := await looks()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    assert url_of(hub) in page
    assert "small" in page


async def test_a_server_is_added_by_the_form_and_its_secret_kept_apart(hub: Hub) -> None:
    address = {"url": "http://127.0.0.1:9/mcp", "authorization": "Bearer sesame-open"}
    forms: list[tuple[dict[str, str], int]] = [
        ({"name": "Bad name", **address}, 400),
        ({"name": "small", **address}, 409),
        ({"name": "empty"}, 422),
        ({"name": "quoted", "command": "npx 'x"}, 400),
        ({"name": "shop", **address}, 200),
        ({"name": "tools", "command": "true 'a b' c"}, 200),
    ]

    async with aiohttp.ClientSession(headers=bearer(hub)) as http:
        for form, status in forms:
            async with http.post(url_of(hub, "/mcp-servers/add"), data=form) as answer:
                assert answer.status == status, (form, await answer.text())

    servers = hub.config.current["mcp"]["servers"]
    assert sorted(servers) == ["shop", "small", "tools"]
    assert servers["shop"]["headers"]["Authorization"].reveal() == "Bearer sesame-open"
    assert (servers["tools"]["command"], servers["tools"]["args"]) == ("true", ["a b", "c"])
    assert "sesame-open" not in hub.home.configuration.read_text()
