"""A node in this process, connected to the gateway double."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node.backends.contract import Backend
from node.backends.linux import LinuxBackend
from node.connection import NodeConnection, NodeCredential
from node.home import NodeHome, NodeSettings
from node.offers import all_offers, handlers_of
from tests.node_program.gateway_double import GatewayDouble, gateway_double
from tests.until import until


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


@dataclass
class RunningNode:
    """A node, the gateway that it is connected to, and what it said."""

    home: NodeHome
    gateway: GatewayDouble
    task: asyncio.Task[None]
    said: list[str] = field(default_factory=list)

    async def connected(self, times: int = 1) -> None:
        """Wait until it has been welcomed so often, and knows it."""
        await until(lambda: sum("connected to" in line for line in self.said) >= times)


@asynccontextmanager
async def running_node(
    home: NodeHome,
    gateway: GatewayDouble,
    backend: Backend | None = None,
    credential: NodeCredential | None = None,
    sleep: Callable[[float], Awaitable[None]] = at_once,
) -> AsyncIterator[RunningNode]:
    backend, said = backend or LinuxBackend(), list[str]()
    handlers = handlers_of(all_offers(home, home.settings(), backend))
    connection = NodeConnection(home, backend, handlers, said.append)
    task = asyncio.create_task(connection.run(credential, sleep))
    try:
        yield RunningNode(home, gateway, task, said)
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[tuple[GatewayDouble, NodeHome]]:
    """A gateway, and the directory of a node that belongs to it."""
    async with gateway_double() as (double, url):
        home = NodeHome(tmp_path / "node")
        home.keep(NodeSettings(url=url, name="Laptop"))
        yield double, home


@pytest.fixture
async def node(gateway: tuple[GatewayDouble, NodeHome]) -> AsyncIterator[RunningNode]:
    """A node that is connected."""
    double, home = gateway
    async with running_node(home, double, credential=NodeCredential("token", "shared")) as running:
        await running.connected()
        yield running
