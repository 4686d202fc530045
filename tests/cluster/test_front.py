"""The front door of a worker: which home a request reaches, and what arrives there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hub.core.clock import ManualClock
from tests.cluster.front_rig import DOMAIN, Workers, two_workers
from tests.gateway.certificates import issued
from tests.until import as_time_passes, until

OAK = "oak." + DOMAIN
ELM = "elm." + DOMAIN
TOKEN = "homtok_%s." + "a" * 43


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Workers]:
    """Worker one with the home elm, worker two with oak."""
    async with two_workers(tmp_path) as made:
        await made.open("elm", "one")
        await made.open("oak", "two")
        yield made


@pytest.mark.parametrize("worker", ["one", "two"])
@pytest.mark.parametrize(
    ("host", "path", "headers", "reached"),
    [
        (ELM, "/a?b=c", {}, ("elm", "/a?b=c")),
        (OAK.upper() + ".:80", "/a", {}, ("oak", "/a")),
        ("chat.elm.example", "/a", {}, ("elm", "/a")),
        (DOMAIN, "/homes/oak/a/%2e%2e//b?c", {}, ("oak", "/a/%2e%2e//b?c")),
        (DOMAIN, "/homes/oak", {}, ("oak", "/")),
        ("localhost", "/homes/oak?a", {}, ("oak", "/?a")),
        (DOMAIN, "/api/webhook/abc", {"Authorization": "Bearer " + TOKEN % "oak"}, ("oak", "/api/webhook/abc")),
        ("127.0.0.1", "/v1/models", {"x-api-key": TOKEN % "elm"}, ("elm", "/v1/models")),
        (DOMAIN, "/a", {"Sec-WebSocket-Protocol": "x, homarus.bearer." + TOKEN % "oak"}, ("oak", "/a")),
        (ELM, "/homes/oak/a", {}, ("elm", "/homes/oak/a")),
        (ELM, "/a", {"X-Forwarded-Host": OAK, "X-Original-URL": "/homes/oak/"}, ("elm", "/a")),
        (ELM, "/a", {"Authorization": "Bearer homtok_" + "a" * 43}, ("elm", "/a")),
    ],
)
async def test_a_request_reaches_the_home_that_it_names_through_any_worker(
    workers: Workers, worker: str, host: str, path: str, headers: dict[str, str], reached: tuple[str, str]
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    answer = await workers.raw(
        worker, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n".encode()
    )

    assert answer.startswith(b"HTTP/1.1 200")
    seen = [(hub.name, asked["target"]) for hub in workers.hubs.values() for asked in hub.requests]
    assert seen == [reached]


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET / HTTP/1.1", "", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nHost: {OAK}", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}, {OAK}", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}@{OAK}", 400),
        ("GET / HTTP/1.1", f"Host:{ELM}/../{OAK}", 400),
        ("GET / HTTP/1.1", f"Host: a.{ELM}", 421),
        ("GET / HTTP/1.1", f"Host: -elm.{DOMAIN}", 421),
        ("GET / HTTP/1.1", "Host: elm.evil.example", 421),
        ("GET / HTTP/1.1", f"Host: elm_.{DOMAIN}", 421),
        ("GET / HTTP/1.1", f"Host: ash.{DOMAIN}", 404),
        (f"GET http://{OAK}/ HTTP/1.1", f"Host: {ELM}", 400),
        (f"GET http://{ELM}:1/ HTTP/1.1", f"Host: {ELM}", 400),
        (f"GET http://x@{ELM}/ HTTP/1.1", f"Host: {ELM}", 400),
        (f"GET ftp://{ELM}/ HTTP/1.1", f"Host: {ELM}", 400),
        (f"CONNECT {OAK}:80 HTTP/1.1", f"Host: {ELM}", 400),
        ("OPTIONS * HTTP/1.1", f"Host: {ELM}", 400),
        ("GET /a#b HTTP/1.1", f"Host: {ELM}", 400),
        ("GET /\xc3\xa4 HTTP/1.1", f"Host: {ELM}", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nAuthorization: Bearer {TOKEN % 'oak'}", 403),
        ("GET /homes/elm/ HTTP/1.1", f"Host: {DOMAIN}\r\nAuthorization: Bearer {TOKEN % 'oak'}", 403),
        (
            "GET / HTTP/1.1",
            f"Host: {DOMAIN}\r\nx-api-key: {TOKEN % 'elm'}\r\nAuthorization: bearer {TOKEN % 'oak'}",
            403,
        ),
        ("GET /homes/%65lm/ HTTP/1.1", f"Host: {DOMAIN}", 404),
        ("GET /x/../homes/elm/ HTTP/1.1", f"Host: {DOMAIN}", 404),
        ("GET //homes/elm/ HTTP/1.1", f"Host: {DOMAIN}", 404),
        ("GET / HTTP/1.1", f"Host: {DOMAIN}", 404),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nX-Homarus-Relay: oak 1.2.3.4 http {'0' * 64}", 403),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nX-Homarus-Relay: ", 403),
        ("POST / HTTP/1.1", f"Host: {ELM}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", 400),
        ("POST / HTTP/1.1", f"Host: {ELM}\r\nContent-Length: 3\r\nContent-Length: 4", 400),
        ("POST / HTTP/1.1", f"Host: {ELM}\r\nTransfer-Encoding: chunked, identity", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nX: a\x00b", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\n folded: b", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\nX: {'a' * 9_000}", 400),
        ("GET / HTTP/1.1", f"Host: {ELM}\r\n" + "\r\n".join(f"X{n}: a" for n in range(200)), 400),
        (f"GET /{'a' * 9_000} HTTP/1.1", f"Host: {ELM}", 400),
    ],
)
async def test_what_names_no_home_or_two_reaches_none(
    workers: Workers, request_line: str, headers: str, status: int
) -> None:
    lines = f"{headers}\r\n" if headers else ""

    answer = await workers.raw("one", f"{request_line}\r\n{lines}Connection: close\r\n\r\n".encode("latin-1"))

    assert int(answer.split(b" ", 2)[1]) == status, answer[:300]
    assert [asked for hub in workers.hubs.values() for asked in hub.requests] == []


async def test_each_request_of_a_connection_is_brought_to_its_own_home(workers: Workers) -> None:
    hosts = [ELM, OAK, ELM, OAK]
    asked = "".join(f"GET /{n} HTTP/1.1\r\nHost: {host}\r\n\r\n" for n, host in enumerate(hosts))

    answer = await workers.raw("one", f"{asked}GET /4 HTTP/1.1\r\nHost: {ELM}\r\nConnection: close\r\n\r\n".encode())

    assert answer.count(b"HTTP/1.1 200") == 5
    assert [each["target"] for each in workers.hubs["elm"].requests] == ["/0", "/2", "/4"]
    assert [each["target"] for each in workers.hubs["oak"].requests] == ["/1", "/3"]


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_hub_is_told_the_real_client_and_nothing_that_it_claims(workers: Workers, worker: str) -> None:
    names = ("X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "Forwarded", "X-Forwarded-User", "Via")
    claimed = dict.fromkeys(names, "9.9.9.9")
    claimed |= {"Connection": "X-Forwarded-For, Authorization, X-Odd", "X-Odd": "1", "Authorization": "Bearer abc"}
    claimed |= {"X-Forwarded-Proto": "https", "Keep-Alive": "3", "Cookie": "a=b", "X-Kept": "kept"}

    status, told = await workers.ask(worker, ELM, headers=claimed)

    got = {name.lower(): value for name, value in told["headers"]}
    assert status == 200
    assert len(told["headers"]) == len(got)
    assert (got["x-forwarded-for"], got["x-forwarded-proto"]) == ("127.0.0.1", "http")
    assert got["host"] == ELM
    assert (got["authorization"], got["cookie"], got["x-kept"]) == ("Bearer abc", "a=b", "kept")
    assert not {"via", "x-odd", "keep-alive", "forwarded", "x-forwarded-user", "cf-connecting-ip", "x-real-ip"} & {*got}


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_trusted_proxy_says_who_the_client_is(tmp_path: Path, worker: str) -> None:
    from ipaddress import ip_network

    said = {"X-Forwarded-For": "6.6.6.6, 203.0.113.9", "X-Forwarded-Proto": "https", "X-Forwarded-User": "ada"}
    async with two_workers(tmp_path, trusted_proxies=(ip_network("127.0.0.0/8"),)) as made:
        await made.open("elm", "one")
        _, told = await made.ask(worker, ELM, headers=said)

    got = dict(told["headers"])
    assert (got["X-Forwarded-For"], got["X-Forwarded-Proto"]) == ("203.0.113.9", "https")
    assert got["X-Forwarded-User"] == "ada"


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_host_that_homes_share_carries_no_cookie_and_no_origin(workers: Workers, worker: str) -> None:
    async with workers.client(worker, DOMAIN) as client:
        async with client.get("/homes/elm/a", headers={"Cookie": "a=b"}) as answer:
            told = await answer.json()
        async with client.get("/homes/elm/moved", allow_redirects=False) as moved:
            location = moved.headers["Location"]
    async with workers.client(worker, ELM) as client, client.get("/a") as own:
        cookie, policy = own.headers["Set-Cookie"], own.headers.get("Content-Security-Policy")

    assert "Cookie" not in dict(told["headers"])
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["Content-Security-Policy"] == "sandbox"
    assert location == "/homes/elm/login"
    assert (cookie, policy) == ("signed=in", None)


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_stream_is_not_held_back_and_ends_with_its_client(workers: Workers, worker: str) -> None:
    hub = workers.hubs["elm"]
    async with workers.client(worker, ELM) as client:
        async with client.get("/stream") as answer:
            assert await answer.content.readuntil(b"\n\n") == b"data: first\n\n"
            hub.go_on.set()
            assert await answer.content.read() == b"data: last\n\n"
        hub.go_on.clear()
        left = await client.get("/stream")
        await left.content.readuntil(b"\n\n")
        left.close()
        await hub.left.wait()


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_an_upload_is_passed_on_as_it_comes(workers: Workers, worker: str) -> None:
    hub = workers.hubs["elm"]
    more = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"a" * 100_000
        await more.wait()
        for _ in range(100):
            yield b"b" * 100_000

    async def release() -> None:
        await until(lambda: hub.received_bytes == 100_000)
        more.set()

    async with workers.client(worker, ELM) as client, asyncio.TaskGroup() as group:
        group.create_task(release())
        async with client.post("/upload", data=body()) as answer:
            assert await answer.text() == "10100000"


async def test_an_upload_that_nobody_reads_is_not_held_in_memory(workers: Workers) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", workers.ports["two"])
    writer.write(f"POST /stream HTTP/1.1\r\nHost: {ELM}\r\nContent-Length: 1000000000\r\n\r\nx".encode())
    await reader.readuntil(b"first\n\n")

    writer.write(b"x" * 100_000_000)  # far more than all buffers of the system between here and there
    taken = [writer.transport.get_write_buffer_size()]
    while len(taken) < 50 or taken[-1] != taken[-50]:
        await asyncio.sleep(0.01)
        taken.append(writer.transport.get_write_buffer_size())
    writer.transport.abort()

    assert taken[-1] > 50_000_000


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(workers: Workers, worker: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", workers.ports[worker])
    head = f"POST /a HTTP/1.1\r\nHost: {ELM}\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"body")
    answer = await reader.read()
    writer.close()

    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"body": "body"' in answer


@pytest.mark.parametrize(
    ("worker", "host", "path"), [("one", ELM, "/ws"), ("two", ELM, "/ws"), ("two", DOMAIN, "/homes/elm/ws")]
)
async def test_a_websocket_is_carried_both_ways(workers: Workers, worker: str, host: str, path: str) -> None:
    large = "ä" * 3_000_000
    async with (
        workers.client(worker, host) as client,
        client.ws_connect(path, max_msg_size=0, protocols=("spoken",)) as socket,
    ):
        assert socket.protocol == "spoken"
        assert await socket.receive_str() == "hello from elm"
        await socket.send_str(large)
        assert await socket.receive_str() == large
        await socket.send_bytes(b"\x00\xff" * 5)
        assert await socket.receive_bytes() == b"\x00\xff" * 5
        await socket.send_str("end")
        ended = await socket.receive()
    await workers.hubs["elm"].left.wait()

    assert (ended.type, ended.data) == (aiohttp.WSMsgType.CLOSE, 1012)


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_a_refused_websocket_is_told_so(workers: Workers, worker: str) -> None:
    async with workers.client(worker, ELM) as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect("/refused")
        async with client.get("/a") as answer:
            assert answer.status == 200

    assert refused.value.status == 401


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_the_end_of_a_client_ends_its_websocket_at_the_hub(workers: Workers, worker: str) -> None:
    async with workers.client(worker, ELM) as client:
        socket = await client.ws_connect("/ws")
        await socket.receive_str()
        assert socket._response.connection is not None
        socket._response.connection.close()

        await workers.hubs["elm"].left.wait()


@pytest.mark.parametrize("known", [True, False])
async def test_workers_speak_tls_to_those_whom_their_authority_knows(tmp_path: Path, known: bool) -> None:
    authority, *tls = issued(tmp_path, "localhost")
    (tmp_path / "other").mkdir()
    other, *_ = issued(tmp_path / "other", "localhost")
    clock = ManualClock()
    async with two_workers(tmp_path, clock, tls=tuple(tls), authority=authority if known else other) as made:
        made.root = "https://localhost"
        hub = await made.open("elm", "one")
        asked = asyncio.ensure_future(made.ask("two", ELM))
        await as_time_passes(clock, 1.0, asked.done)

    assert (await asked)[0] == (200 if known else 503)
    assert [dict(each["headers"])["X-Forwarded-Proto"] for each in hub.requests] == ["https"] * known


async def test_health_is_the_workers_own_where_no_home_is_named(workers: Workers) -> None:
    assert await workers.ask("one", "127.0.0.1", "/healthz") == (200, {"status": "ok"})
    assert (await workers.ask("one", ELM, "/healthz"))[1]["home"] == "elm"
