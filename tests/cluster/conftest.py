"""What the tests of workers share: a database of their own, and workers that end when the test does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from hub.cluster.lease import WorkerLease
from hub.cluster.membership import Load, Membership
from hub.storage.postgresql.session import Target
from tests.servers import shared
from tests.servers.postgresql import PostgresqlServer

Join = Callable[..., "Member"]


class Member(Membership):
    """A worker of a test; being told that it lost its place ends nothing but is noted."""

    def __init__(self, target: Target, name: str, lease: WorkerLease) -> None:
        self.told = asyncio.Event()
        self.ended = asyncio.Event()
        self.lease = lease
        loop = asyncio.get_running_loop()
        super().__init__(
            target,
            name=name,
            url=f"http://{name}",
            lease=lease,
            end=lambda code: loop.call_soon_threadsafe(self.ended.set),
        )
        self.load = Load(0.5, 10)
        self.wanted = lambda: loop.call_soon_threadsafe(self.told.set)


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    """The server; one that a test killed is started again."""
    server = shared.postgresql()
    yield server
    server.start()


@pytest.fixture
def name(server: PostgresqlServer) -> str:
    """An empty database of this test's own."""
    return server.new_database()


@pytest.fixture
def target(server: PostgresqlServer, name: str) -> Target:
    """Where the workers of this test meet."""
    return Target.from_url(server.url(name), "worker")


@pytest.fixture
async def join(server: PostgresqlServer, target: Target) -> AsyncIterator[Join]:
    """Lets workers join, and leave in the end."""
    members: list[Member] = []

    def one(name: str, lease: WorkerLease | None = None) -> Member:
        member = Member(target, name, lease or WorkerLease())
        members.append(member)
        member.join()
        return member

    yield one
    server.start()
    for each in members:
        await asyncio.to_thread(each.leave)
