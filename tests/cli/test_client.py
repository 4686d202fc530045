"""How commands reach the hub: its Unix socket first, then TCP with the hub token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.cli.client import HubClient
from hub.core.schema import Schema
from hub.core.surfaces import Method, MethodCall
from hub.gateway.calls.settings import HttpSettings
from hub.storage.instance_lock import InstanceLock
from tests.gateway.rig import Rig, running


async def _who(call: MethodCall) -> str:
    return call.caller.credential_id


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A gateway on a home directory whose lock says where it listens."""
    settings = HttpSettings(port=0, socket_path=tmp_path / ".storage" / "run" / "hub.sock")
    lock = InstanceLock(tmp_path)
    async with running(tmp_path, settings) as rig:
        rig.gateway.methods.add(Method("who", _who, "test", Schema({})))
        lock.acquire()
        lock.update(*rig.gateway.address)
        yield rig
    lock.release()


async def test_a_command_uses_the_unix_socket_and_no_token(rig: Rig) -> None:
    rig.home.hub_token.unlink()

    assert await asyncio.to_thread(HubClient(rig.home.path).call, "who") == "socket"
    assert not rig.home.hub_token.exists()


async def test_a_command_uses_tcp_and_the_hub_token_where_there_is_no_socket(rig: Rig) -> None:
    rig.home.socket.unlink()

    assert await asyncio.to_thread(HubClient(rig.home.path).call, "who") == "hub"
