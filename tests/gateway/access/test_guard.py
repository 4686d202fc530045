"""Sockets that have not proved themselves, and clients that read too slowly: real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from hub.core.schema import Schema
from hub.core.surfaces import LARGE_FRAME_BYTES, READ, HttpCall, Method, MethodCall, Open, Push, Route
from hub.gateway.calls.settings import GatewayLimits, HttpSettings
from tests.gateway.rig import Rig, client_of, connected, running

FEW = HttpSettings(port=0, limits=GatewayLimits(sockets=4, sockets_per_address=3))


async def _who(call: MethodCall) -> str:
    return call.caller.credential_id


async def silent(rig: Rig, count: int, kept: list[object]) -> list[asyncio.StreamReader]:
    opened = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: ")
        kept.append(writer)
        opened.append(reader)
    return opened


async def test_sockets_that_send_no_complete_header_are_closed(tmp_path: Path) -> None:
    async with running(tmp_path, FEW) as rig:
        kept: list[object] = []
        readers = await silent(rig, 5, kept)

        assert await asyncio.wait_for(asyncio.gather(*(each.read() for each in readers)), 20) == [b""] * 5
        assert rig.gateway.guard.connections == 0


async def test_the_oldest_unproved_socket_of_the_most_crowded_address_makes_room(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, limits=GatewayLimits(sockets=4, sockets_per_address=4))
    async with running(tmp_path, settings) as rig:
        kept: list[object] = []
        alone, kept_open = await asyncio.open_connection("127.0.0.1", rig.port, local_addr=("127.0.0.2", 0))
        crowd = await silent(rig, 3, kept)

        async with client_of(rig) as client:
            answer = await client.connect(token=rig.token)

        assert answer["ok"]
        assert crowd[0].at_eof() or await crowd[0].read() == b""
        assert not alone.at_eof()
        assert not kept_open.is_closing()


@pytest.mark.parametrize("count", [16, 40])
async def test_the_owner_is_served_beside_idle_sockets_of_strangers(rig: Rig, count: int) -> None:
    kept: list[object] = []
    readers = await silent(rig, count, kept)

    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token)

    assert answer["ok"]
    assert len(readers) == count


async def open_by(rig: Rig, secret: str, kept: list[object]) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    kept += [reader, writer]
    body = b'{"method":"who"}'
    writer.write(
        f"POST /api/rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return int((await reader.readline()).split()[1])


async def test_a_credential_has_a_quota_of_connections(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, limits=GatewayLimits(connections_per_credential=3))
    async with running(tmp_path, settings) as rig:
        rig.gateway.methods.add(Method("who", _who, "test", Schema({}), READ))
        tokens = [(await rig.tokens.create("program", ["operator.read"]))[1].reveal() for _ in range(2)]

        kept: list[object] = []
        by_one = [await open_by(rig, tokens[0], kept) for _ in range(5)]
        by_another = await open_by(rig, tokens[1], kept)
        by_owner = [await open_by(rig, rig.token, kept) for _ in range(5)]
        async with client_of(rig) as client:
            over = await client.connect(token=tokens[0], scopes=["operator.read"])

    assert by_one == [200, 200, 200, 429, 429]
    assert by_another == 200
    assert by_owner == [200] * 5
    assert over["error"]["code"] == "LIMIT_EXCEEDED"


async def test_places_are_kept_for_the_owner(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, limits=GatewayLimits(connections=16, connections_per_credential=16))
    async with running(tmp_path, settings) as rig:
        rig.gateway.methods.add(Method("who", _who, "test", Schema({}), READ))
        _, secret = await rig.tokens.create("program", ["operator.read"])

        kept: list[object] = []
        by_token = [await open_by(rig, secret.reveal(), kept) for _ in range(14)]
        by_owner = [await open_by(rig, rig.token, kept) for _ in range(4)]

    assert by_token == [200] * 12 + [429] * 2
    assert by_owner == [200] * 4


async def test_a_burst_of_honest_clients_all_get_in(tmp_path: Path) -> None:
    async with running(tmp_path, FEW) as rig:
        loop = asyncio.get_running_loop()
        now, passing = loop.time(), loop.time
        loop.time = lambda: now  # type: ignore[method-assign]  # however slow the machine is, none overstays

        async def come() -> bool:
            async with client_of(rig) as client:
                answer = await client.connect(token=rig.token)
                return bool(answer["ok"])

        came = await asyncio.gather(*(come() for _ in range(40)))
        loop.time = passing  # type: ignore[method-assign]

    assert came == [True] * 40


async def test_one_that_idles_after_a_public_answer_makes_room(tmp_path: Path) -> None:
    async with running(tmp_path, FEW) as rig:
        idle = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await reader.readuntil(b'{"status":"ok"}')
            idle.append((reader, writer))

        async with client_of(rig) as client:
            answer = await client.connect(token=rig.token)

        assert answer["ok"]
        assert await asyncio.wait_for(idle[0][0].read(), 20) == b""


async def test_a_large_body_of_an_authenticated_caller_passes(rig: Rig) -> None:
    rig.gateway.methods.add(Method("who", _who, "test", Schema({"text": str}), READ, frame_limit=LARGE_FRAME_BYTES))
    body = b'{"method":"who","params":{"text":"' + b"x" * 3_000_000 + b'"}}'
    head = (
        f"POST /api/rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {rig.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(head.encode() + body)
    answer = await asyncio.wait_for(reader.readuntil(b'"hub"}'), 30)

    assert b"200 OK" in answer


async def test_a_large_body_of_anybody_else_is_not_read(rig: Rig) -> None:
    head = (
        "POST /api/rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n"
        "Content-Type: application/json\r\nContent-Length: 20000000\r\n\r\n"
    )

    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(head.encode() + b"x" * 1_000_000)
    answer = await asyncio.wait_for(reader.readuntil(b"\r\n"), 30)

    assert b"401" in answer
    assert all(socket.seen_bytes <= 65_536 for socket in rig.gateway.guard.unauthenticated_sockets())


async def test_a_route_may_take_a_large_body_of_anybody_and_only_in_that_request(rig: Rig) -> None:
    async def size(call: HttpCall) -> web.Response:
        return web.Response(text=f"{len(call.body)} bytes")

    limit = 2_000_000
    rig.gateway.routes.add(Route("POST", "/large", size, "test", Open.SELF, body_limit=limit, open_limit=limit))
    rig.gateway.routes.add(Route("POST", "/small", size, "test", Open.SELF))
    head = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n"

    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(head.format("/large", limit).encode() + b"x" * limit)
    taken = await asyncio.wait_for(reader.readuntil(b" bytes"), 30)
    writer.write(head.format("/small", 100_000).encode() + b"x" * 100_000)
    refused = await asyncio.wait_for(reader.readuntil(b"}"), 30)
    another, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(head.format("/large", limit + 1).encode())
    too_large = await asyncio.wait_for(another.readuntil(b"\r\n"), 30)

    assert taken.endswith(b"2000000 bytes")
    assert b"413" in refused
    assert b"413" in too_large


async def test_a_slow_consumer_loses_what_may_be_missed_first_and_is_closed_at_last(tmp_path: Path) -> None:
    limit = 2_000_000
    settings = HttpSettings(port=0, limits=GatewayLimits(buffer_bytes=limit))
    async with running(tmp_path, settings) as rig, connected(rig) as client:
        connection = next(iter(rig.gateway.connections.values()))
        socket = client.ws._response.connection.transport  # type: ignore[union-attr]
        assert socket is not None
        socket.pause_reading()
        payload = {"text": "x" * 50_000}

        while not connection.outlet.dropped:
            rig.gateway.push(Push("agent", payload, scope=READ, droppable=True))
            await asyncio.sleep(0)
        assert rig.gateway.connections

        while rig.gateway.connections:
            rig.gateway.push(Push("chat", payload, scope=READ))
            assert connection.outlet.waiting_bytes < limit + 200_000
            await asyncio.sleep(0)
        socket.resume_reading()  # or the client waits ten seconds for the end


async def test_a_revoked_cookie_ends_the_stream_it_opened(rig: Rig) -> None:
    session, cookie = await rig.web_sessions.create("owner", ["operator.read"])
    begun = asyncio.Event()

    async def hang(call: MethodCall) -> None:
        begun.set()
        await asyncio.Event().wait()

    rig.gateway.methods.add(Method("hang", hang, "test", Schema({}), READ))
    name = rig.gateway.authenticator.cookie_name
    head = (
        f"POST /api/rpc HTTP/1.1\r\nHost: localhost:{rig.port}\r\nOrigin: http://localhost:{rig.port}\r\n"
        f"Cookie: {name}={cookie.reveal()}\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(head.encode() + b'{"method":"hang"}')
    await asyncio.wait_for(begun.wait(), 20)

    await rig.web_sessions.revoke(session.id)

    assert await asyncio.wait_for(reader.read(), 20) == b""


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  /healthz\r\n\r\n",
        b"POST /api/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 9000 + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_refused_without_harm(rig: Rig, data: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    writer.write(data)
    writer.write_eof()

    answer = await asyncio.wait_for(reader.read(), 30)

    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
    assert b"Traceback" not in answer
