"""The Unix socket: the owner without a token, for processes of the hub's own user."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest

from hub.core.schema import Schema
from hub.core.surfaces import Method, MethodCall
from hub.gateway.access.unix_socket import PATH_LIMIT_BYTES, listen
from hub.gateway.calls.settings import GatewayLimits, HttpSettings
from tests.gateway.rig import Client, Rig, connect_params, running


async def _who(call: MethodCall) -> list[object]:
    return [call.caller.credential_id, call.caller.authority.owner, call.caller.local]


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Rig]:
    """A gateway that listens on a Unix socket too, with few places on TCP."""
    path = tmp_path / ".storage" / "run" / "hub.sock"
    limits = GatewayLimits(sockets=4, sockets_per_address=4, connections=16)
    async with running(tmp_path, HttpSettings(port=0, limits=limits, socket_path=path)) as rig:
        rig.gateway.methods.add(Method("who", _who, "test", Schema({})))
        yield rig


async def ask(rig: Rig, headers: Mapping[str, str] | None = None) -> tuple[int, object]:
    connector = aiohttp.UnixConnector(str(rig.home.socket))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post("http://localhost/api/rpc", json={"method": "who"}, headers=headers) as answer,
    ):
        return answer.status, (await answer.json()).get("payload")


async def test_the_caller_is_the_owner_without_a_token(local: Rig) -> None:
    assert await ask(local) == (200, ["socket", True, True])


async def test_a_websocket_over_it_is_the_owners(local: Rig) -> None:
    connector = aiohttp.UnixConnector(str(local.home.socket))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.ws_connect("http://localhost/") as ws,
    ):
        client = Client(ws)
        await client.frame()
        hello = await client.call("connect", connect_params())

    assert "operator.admin" in hello["payload"]["auth"]["scopes"]


async def test_it_is_open_to_its_own_user_alone(local: Rig) -> None:
    path = local.home.socket

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.1"},
        {"Via": "1.1 proxy"},
        {"Tailscale-User-Login": "x"},
        {"Origin": "http://localhost"},
        {"Authorization": "Bearer wrong"},
        {"Host": "homarus.example.org"},
    ],
)
async def test_what_a_proxy_or_a_browser_sends_over_it_is_not_the_owners(local: Rig, headers: dict[str, str]) -> None:
    assert (await ask(local, headers))[0] in (401, 403)


async def test_it_is_served_when_every_place_on_tcp_is_taken(local: Rig) -> None:
    kept = [await asyncio.open_connection("127.0.0.1", local.port) for _ in range(16)]

    assert (await ask(local))[0] == 200
    assert len(kept) == 16


async def test_it_replaces_what_a_killed_hub_left_and_gives_way_where_the_path_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "run" / "hub.sock"
    for _ in range(2):
        made = listen(path)
        assert made is not None
        made.close()

    assert listen(tmp_path / ("x" * PATH_LIMIT_BYTES) / "hub.sock") is None
