"""HTTP requests and answers as they are passed on: which headers stay or are replaced, and streamed bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from aiohttp import ClientResponse, web

from hub.cluster import relay
from hub.cluster.naming import Destination
from hub.cluster.relay import Client
from hub.gateway.access.hosts import has_forwarding

HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade", "expect", "http2-settings"),
    }
)
"""What concerns one connection alone."""
ADDRESSES = frozenset(
    {
        *("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port"),
        *("x-forwarded-prefix", "x-forwarded-server", "x-forwarded-scheme", "x-forwarded-ssl", "x-real-ip"),
        relay.HEADER.lower(),
    }
)
"""What only we say, to the next one."""
OURS = frozenset({relay.HEADER.lower(), relay.MOVED.lower()})
UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
SANDBOX = "sandbox"
"""On a host that homes share no page may be one of its origin: it would be that of every home."""


def is_websocket(request: web.BaseRequest) -> bool:
    """Whether a request asks for a WebSocket."""
    return request.method == "GET" and request.headers.get("Upgrade", "").strip().lower() == "websocket"


def request_headers(
    request: web.BaseRequest, client: Client, *, shared: bool, from_proxy: bool
) -> list[tuple[str, str]]:
    """Return the headers with which a request goes on.

    Args:
        client: Where it came from.
        shared: Whether its host is shared by homes: no cookie goes in.
        from_proxy: Whether a trusted proxy brought it, whose other headers count; anybody else's are dropped.
    """
    listed = _listed(request.headers.getall("Connection", []))
    kept: list[tuple[str, str]] = []
    for name, value in request.headers.items():
        lower = name.lower()
        if lower in HOP_BY_HOP or lower in ADDRESSES or lower in listed or (shared and lower == "cookie"):
            continue
        if from_proxy or not has_forwarding({name: value}):
            kept.append((name, value))
    kept += [("X-Forwarded-For", client.address), ("X-Forwarded-Proto", client.scheme)]
    return kept + UPGRADE if is_websocket(request) else kept


def answer_headers(answer: ClientResponse, asked: Destination) -> list[tuple[str, str]]:
    """Return the headers with which an answer goes on."""
    listed = _listed(answer.headers.getall("Connection", []))
    kept: list[tuple[str, str]] = []
    for name, value in answer.headers.items():
        lower = name.lower()
        if lower in HOP_BY_HOP or lower in listed or lower in OURS or (asked.shared and lower == "set-cookie"):
            continue
        is_ours = lower == "location" and value.startswith("/")
        kept.append((name, asked.prefix + value if is_ours else value))
    if asked.shared:
        kept.append(("Content-Security-Policy", SANDBOX))
    return kept + UPGRADE if answer.status == 101 else kept


class Body:
    """The body of a request, read as it is passed on; a client that waits to be asked for it is asked then.

    Attributes:
        begun: Whether some of it may be gone: the request cannot be sent again.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._awaited = request.headers.get("Expect", "").strip().lower() == "100-continue"
        self.begun = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.begun = True
        if self._awaited:
            writer = self._request.writer
            await writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            writer.output_size = 0
        async for chunk in self._request.content.iter_any():
            yield chunk


def _listed(values: Iterable[str]) -> frozenset[str]:
    """Return the names in Connection headers; Host and what proves somebody cannot be taken off by them."""
    names = {name.strip().lower() for value in values for name in value.split(",")}
    return frozenset(names - {"host", "authorization", "cookie", "origin", "content-length"})
