"""What a request names as its target: one host, said twice or once, with a port that exists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.gateway.access.hosts import split_host
from hub.gateway.calls.settings import HttpSettings
from tests.gateway.rig import Rig, running


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with running(tmp_path, HttpSettings(port=0)) as made:
        yield made


async def status(rig: Rig, method: str, target: str, host: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


async def test_every_route_refuses_a_target_of_another_host(rig: Rig) -> None:
    routes = [route for route in rig.gateway.routes if not route.websocket]

    assert routes
    for route in routes:
        assert await status(rig, route.method, f"http://evil.example{route.path}", "localhost") == 400, route.path


@pytest.mark.parametrize(
    ("target", "host", "expected"),
    [
        ("http://localhost/healthz", "localhost", 200),
        ("http://LOCALHOST./healthz", "localhost", 200),
        ("http://localhost:1/healthz", "localhost:2", 400),
        ("http://evil.example/healthz", "evil.example", 403),
        ("http://user@localhost/healthz", "localhost", 400),
        ("//evil.example/healthz", "localhost", 404),
        ("/healthz", "localhost:65535", 200),
        ("/healthz", "localhost:65536", 403),
        ("/healthz", "localhost:99999", 403),
        ("/healthz", "localhost:-1", 403),
        ("/healthz", "localhost:١", 403),
    ],
)
async def test_the_target_and_the_host_header_agree(rig: Rig, target: str, host: str, expected: int) -> None:
    assert await status(rig, "GET", target, host) == expected


@pytest.mark.parametrize("port", ["65536", "99999", "100000", "-1", "1e3", "0x50", " 80", "٨٠"])
def test_a_port_is_a_number_that_exists(port: str) -> None:
    assert split_host(f"localhost:{port}") is None
