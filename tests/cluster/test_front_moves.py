"""The front door while homes open, close and move, and under bad clients."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hub.cluster.bridge import FrameEnds
from hub.cluster.contract import Owner
from hub.cluster.door import GRACE_S, HEAD_LIMIT_BYTES, HEAD_LIMIT_S, SILENT_PER_ADDRESS
from hub.cluster.finding import WAIT_S
from hub.cluster.front import WATCH_S
from hub.core.clock import ManualClock
from tests.cluster.front_rig import DOMAIN, Workers, two_workers
from tests.until import as_time_passes, skip_time, until

ELM = "elm." + DOMAIN


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def workers(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Workers]:
    """Two workers, and the home elm, which nobody has."""
    async with two_workers(tmp_path, clock) as made:
        made.directory.homes.add("elm")
        yield made


async def test_a_home_that_is_closed_is_wanted_once_and_waited_for(workers: Workers, clock: ManualClock) -> None:
    asked = [asyncio.create_task(workers.ask("one", ELM)) for _ in range(5)]
    await until(lambda: workers.directory.wanted)
    await workers.open("elm", "two")

    await as_time_passes(clock, 0.1, lambda: all(each.done() for each in asked))

    assert [(await each)[1]["home"] for each in asked] == ["elm"] * 5
    assert workers.directory.wanted == ["elm"]


async def test_a_home_that_nobody_opens_is_not_there_after_ten_seconds(workers: Workers, clock: ManualClock) -> None:
    async with workers.client("one", ELM) as client:
        asked = asyncio.ensure_future(client.get("/v1/models"))
        begun = clock.monotonic()
        await as_time_passes(clock, 0.5, asked.done)
        answer = await asked
        told = await answer.json()

    assert answer.status == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert "elm" in told["error"]["message"]
    assert clock.monotonic() - begun >= WAIT_S


async def test_an_owner_that_is_gone_is_asked_for_again_with_the_whole_body(
    workers: Workers, clock: ManualClock
) -> None:
    await workers.open("elm", "two")
    assert (await workers.ask("one", ELM))[0] == 200
    await workers.fronts["two"].stop()
    workers.directory.owners.clear()
    await workers.open("elm", "one")

    async with workers.client("one", ELM) as client:
        asked = asyncio.ensure_future(client.post("/a", data=b"whole"))
        await as_time_passes(clock, 0.1, asked.done)
        answer = await asked

        assert (await answer.json())["body"] == "whole"


async def test_a_worker_that_has_the_home_no_more_hands_the_request_back_untouched(
    workers: Workers, clock: ManualClock
) -> None:
    workers.directory.owners["elm"] = workers.owner("two")
    async with workers.client("one", ELM) as client:
        asked = asyncio.ensure_future(client.post("/a", data=b"whole"))
        await as_time_passes(clock, 0.1, lambda: workers.directory.asked > 1)
        hub = await workers.open("elm", "two")
        await as_time_passes(clock, 0.1, asked.done)
        answer = await asked

        assert (await answer.json())["body"] == "whole"
    assert len(hub.requests) == 1


@pytest.mark.parametrize(
    ("method", "body", "says", "status"),
    [
        ("GET", b"", b"", 200),
        ("POST", b"whole", b"", 200),
        ("POST", b"", b"", 503),
        ("POST", b"whole", b"HTTP/1.1 100 Continue\r\n\r\n", 503),
    ],
)
async def test_a_request_that_a_frozen_worker_holds_goes_to_the_new_owner_unless_it_may_have_begun(
    workers: Workers, clock: ManualClock, method: str, body: bytes, says: bytes, status: int
) -> None:
    held, received = asyncio.Event(), bytearray()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.readuntil(b"\r\n\r\n"))
        writer.write(says)
        if says:
            received.extend(await reader.readuntil(body))
        held.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as frozen, workers.client("one", ELM) as client:
        port = frozen.sockets[0].getsockname()[1]
        workers.directory.owners["elm"] = Owner("frozen", f"http://127.0.0.1:{port}")
        asked = asyncio.ensure_future(client.request(method, "/a", data=body or None))
        await held.wait()
        await clock.advance(WAIT_S)  # as long as it takes to bury the worker
        hub = await workers.open("elm", "two")

        await as_time_passes(clock, WATCH_S, asked.done)

        answer = await asked
        assert answer.status == status
        assert [each["method"] for each in hub.requests] == ([method] if status == 200 else [])
        if status == 200:
            assert (await answer.json())["body"] == body.decode()


async def test_sockets_of_a_home_that_moved_are_told_to_come_again(workers: Workers, clock: ManualClock) -> None:
    await workers.open("elm", "two")
    async with workers.client("one", ELM) as client:
        socket = await client.ws_connect("/ws")
        stream = await client.get("/stream")
        await socket.receive_str()
        await stream.content.readuntil(b"\n\n")
        await workers.open("elm", "one")  # the former owner is frozen: it says nothing

        ended = asyncio.ensure_future(socket.receive())
        cut = asyncio.ensure_future(stream.content.read())
        await as_time_passes(clock, WATCH_S, lambda: ended.done() and cut.done())

        assert ((await ended).type, (await ended).data) == (aiohttp.WSMsgType.CLOSE, 1012)
        with pytest.raises(aiohttp.ClientPayloadError):
            await cut


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_hub_that_dies_leaves_sockets_that_are_told_to_come_again(workers: Workers, worker: str) -> None:
    hub = await workers.open("elm", "two")
    async with workers.client(worker, ELM) as client, client.ws_connect("/ws") as socket:
        await socket.receive_str()
        assert hub._runner is not None
        assert hub._runner.server is not None
        for connection in hub._runner.server.connections:
            connection.force_close()
        ended = await socket.receive()

    assert (ended.type, ended.data) == (aiohttp.WSMsgType.CLOSE, 1012)


async def test_a_worker_that_stops_tells_its_sockets_to_come_again(workers: Workers) -> None:
    await workers.open("elm", "two")
    async with workers.client("one", ELM) as client, client.ws_connect("/ws") as socket:
        await socket.receive_str()
        stopping = asyncio.create_task(workers.fronts["one"].stop())
        ended = await socket.receive()
        await stopping

    assert (ended.type, ended.data) == (aiohttp.WSMsgType.CLOSE, 1012)


async def test_use_is_noted_where_the_home_is(workers: Workers, clock: ManualClock) -> None:
    await workers.open("elm", "two")
    assert (await workers.ask("one", ELM))[0] == 200
    assert workers.directory.used == ["elm"]
    async with workers.client("one", ELM) as client, client.ws_connect("/ws") as socket:
        await socket.receive_str()
        await as_time_passes(clock, WATCH_S, lambda: len(workers.directory.used) > 3)


async def test_many_homes_that_are_opened_at_once_are_bounded(workers: Workers, clock: ManualClock) -> None:
    names = [f"h{n}" for n in range(80)]
    workers.directory.homes |= {*names}
    asked = [asyncio.create_task(workers.ask("one", f"{name}.{DOMAIN}")) for name in names]
    await until(lambda: sum(each.done() for each in asked) >= 80 - 64)
    assert {(await each)[0] for each in asked if each.done()} == {503}
    assert len(workers.directory.wanted) == 64
    await as_time_passes(clock, 1.0, lambda: all(each.done() for each in asked))


async def test_a_slow_header_and_one_without_end_are_cut_off(workers: Workers) -> None:
    port = workers.ports["one"]
    slow, slow_writer = await asyncio.open_connection("127.0.0.1", port)
    slow_writer.write(b"GET / HT")
    bomb, bomb_writer = await asyncio.open_connection("127.0.0.1", port)
    bomb_writer.write(
        b"GET / HTTP/1.1\r\n"
        + b"".join(b"X%d: %b\r\n" % (n, b"a" * 4_000) for n in range(HEAD_LIMIT_BYTES // 4_000 + 1))
    )

    await _gone(bomb)
    await until(lambda: workers.fronts["one"].connections == 1)
    skip_time(HEAD_LIMIT_S)
    await _gone(slow)
    for writer in (slow_writer, bomb_writer):
        writer.close()


async def test_an_address_has_a_bounded_number_of_silent_connections(workers: Workers) -> None:
    await workers.open("elm", "one")
    silent = [await asyncio.open_connection("127.0.0.1", workers.ports["one"]) for _ in range(SILENT_PER_ADDRESS)]
    await until(lambda: workers.fronts["one"].connections == SILENT_PER_ADDRESS)
    skip_time(GRACE_S)

    assert (await workers.ask("one", ELM))[0] == 200
    await _gone(silent[0][0])
    silent[1][1].write(f"GET / HTTP/1.1\r\nHost: {ELM}\r\n\r\n".encode())
    assert await silent[1][0].readuntil(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
    for _, writer in silent:
        writer.close()


async def _gone(reader: asyncio.StreamReader) -> None:
    """Wait for the end of a connection on which nothing was said."""
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100_000])
def test_a_frame_may_begin_only_between_two(step: int) -> None:
    frames = [
        *(
            b"\x81\x05hello",
            b"\x82\x7e\x00\x80" + b"x" * 128,
            b"\x82\x7f" + (70_000).to_bytes(8, "big") + b"y" * 70_000,
        ),
        *(b"\x89\x00", b"\x81\x85mask12345"),
    ]
    ends = FrameEnds()
    data = b"".join(frames)
    edges = {sum(map(len, frames[:n])) for n in range(len(frames) + 1)}
    for at in range(0, len(data), step):
        assert ends.between == (at in edges)
        ends.feed(data[at : at + step])
    assert ends.between
    ends.feed(b"\x88\x00")
    assert not ends.between
