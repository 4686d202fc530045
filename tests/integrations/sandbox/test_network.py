"""The network of a sandbox: which hosts a list names, and what its proxy takes. Programs use it in test_engines.py."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from hub.core.schema import Invalid, Schema
from hub.sandbox.network import EVERYWHERE, SandboxProxy, allows, read_head
from hub.sandbox.schema import SANDBOX_SCHEMA
from hub.sandbox.server_name import NamedTunnel
from hub.security.egress import Egress


@pytest.mark.parametrize(
    ("host", "port", "reached"),
    [
        ("example.org", 443, True),
        ("example.org", 80, True),
        ("example.org", 22, False),
        ("a.example.org", 443, False),
        ("pypi.test", 8443, True),
        ("pypi.test", 443, False),
        ("a.b.files.test", 443, True),
        ("files.test", 443, False),
        ("evilfiles.test", 443, False),
        ("example.org.evil.test", 443, False),
    ],
)
def test_a_list_names_hosts_and_ports(host: str, port: int, reached: bool) -> None:
    assert allows(["Example.org", "pypi.test:8443", "*.files.test"], host, port) is reached


def test_a_plain_request_goes_on_as_the_server_expects_it() -> None:
    head = b"POST http://Example.org/x?y HTTP/1.1\r\nHost: evil.test\r\nProxy-Connection: keep-alive\r\nA: b\r\n\r\n"

    assert read_head(head) == (
        "example.org",
        80,
        b"POST /x?y HTTP/1.1\r\nHost: Example.org\r\nConnection: close\r\nA: b\r\n\r\n",
    )


def hello(name: str | None) -> bytes:
    """The first record of a real TLS client."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context()
    client.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        client.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    ("first", "passes"),
    [
        (hello("Ok.example.org"), True),
        (hello(None), True),
        (hello("evil.example"), False),
        (hello("ok.example.org")[:60], False),
        (b"\x16\x03\x01\x00\x04\x01\x00\x00\x00", False),
        (b"\x16\x03\x01\x00\x00", False),
        (b"SSH-2.0-x", True),
        (b"", True),
    ],
    ids=["its own", "none", "another's", "cut", "split", "empty record", "no TLS", "nothing"],
)
async def test_a_tunnel_takes_no_tls_for_another_name(first: bytes, passes: bool) -> None:
    reader = asyncio.StreamReader()
    tunnel = NamedTunnel(reader, lambda name: name == "ok.example.org")
    for at in range(0, len(first), 50):
        reader.feed_data(first[at : at + 50])
    reader.feed_eof()

    if passes:
        assert b"".join([chunk async for chunk in _chunks(tunnel)]) == first
    else:
        with pytest.raises(ConnectionError):
            await tunnel.read(7)


@pytest.mark.parametrize(
    ("allow", "place", "told"),
    [
        ("example.org", "example.org:80", b"need no tunnel"),
        ("example.org:80", "example.org:0080", b"need no tunnel"),
        ("example.org", "example.org:443", b"cannot be reached"),
        (EVERYWHERE, "example.org:80", b"cannot be reached"),
    ],
)
async def test_a_plain_request_to_a_listed_host_goes_through_no_tunnel(allow: str, place: str, told: bytes) -> None:
    async def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    proxy = SandboxProxy(Egress(list, look_up), [allow])
    async with await asyncio.start_server(proxy._accept, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())

        answer = await reader.read()
        writer.close()
    await proxy.close()

    assert told in answer


async def _chunks(tunnel: NamedTunnel) -> AsyncIterator[bytes]:
    while chunk := await tunnel.read(7):
        yield chunk


@pytest.mark.parametrize(
    "line",
    [
        "GET /x HTTP/1.1",
        "GET https://example.org/ HTTP/1.1",
        "GET http://a@example.org/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
        "CONNECT example.org HTTP/1.1",
        "nonsense",
        "GET http://ex\u00e4mple.org/ HTTP/1.1",
        "GET http://example.org/ HTTP/2",
        "GET http://example.org/\nHost:evil.test HTTP/1.1",
        "GET http://exa\nmple.org/ HTTP/1.1",
        "CONNECT example.org\n:443 HTTP/1.1",
        "GET http://example.org/ HTTP/1.1\r\nA: b\nHost: evil.test",
        "GET http://example.org/ HTTP/1.1\r\nA: b\rHost: evil.test",
        "GET http://example.org/ HTTP/1.1\r\nHost : evil.test",
        "GET http://example.org/ HTTP/1.1\r\nA: b\r\n Host: evil.test",
        "GET http://example.org/ HTTP/1.1\r\nA: \0",
        "GET http://example.org/ HTTP/1.1\r\nA",
    ],
)
def test_what_is_no_request_to_a_proxy_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_head(f"{line}\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("network", "why"),
    [
        ({"allow": []}, "1 to 200 hosts"),
        ({"allow": ["http://x.test/"]}, "'http://x.test/' is not a host"),
        ({"deny": ["x.test"]}, "expected {allow"),
        ("somewhere", "expected none, or {allow"),
    ],
)
def test_a_list_that_is_none_is_refused(network: object, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        Schema(SANDBOX_SCHEMA)({"bubblewrap": {"network": network}})
