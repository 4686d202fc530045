"""A server at an address, reached through the hub's egress client: streamable HTTP, or SSE for older ones.

Format: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. Imported when a server is connected,
since it brings the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import httpx2
from mcp.client import Transport
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from hub.core.errors import HubError, TimedOut
from hub.security.egress import Egress

BODY_LIMIT_BYTES = 4 * 1024 * 1024
"""Of an answer that is not a stream of events; one event has at most 1 MiB."""
SILENCE_S = 300.0
STREAM_SILENCE_S = 3_600.0
"""Of a stream that tells of changes, of which there may be none."""
_OWN = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "user-agent"})
EVENTS = "text/event-stream"


class McpAddress:
    """The address of a server.

    Args:
        url: The URL as configured; its own host and port may be private, no other may.
        headers: Sent with each request.
        sse: Whether it speaks the older transport.
        auth: Signs requests; None when the headers do.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], egress: Egress, *, sse: bool, auth: httpx2.Auth | None = None
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._egress = egress
        self._sse = sse
        self._auth = auth

    def transport(self) -> Transport:
        """Return the streams to it."""
        return self._older() if self._sse else self._streamable()

    @asynccontextmanager
    async def _streamable(self) -> AsyncIterator[TransportStreams]:
        async with (
            self._client(self._headers, httpx2.Timeout(SILENCE_S), self._auth) as client,
            streamable_http_client(self._url, http_client=client) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _older(self) -> AsyncIterator[TransportStreams]:
        async with sse_client(self._url, self._headers, httpx_client_factory=self._client, auth=self._auth) as streams:
            yield streams

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        by_egress = _ThroughEgress(self._egress, self._url)
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=by_egress, trust_env=False)


class _ThroughEgress(httpx2.AsyncBaseTransport):
    """Sends the SDK's requests by the hub's egress client."""

    def __init__(self, egress: Egress, named: str) -> None:
        self._egress = egress
        self._named = named

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; its answer is read as it comes.

        Raises:
            httpx2.ConnectError: It was refused or failed; the message says why.
        """
        stack = AsyncExitStack()
        is_stream = request.method == "GET" and EVENTS in request.headers.get("accept", "")
        silence_s = request.extensions.get("timeout", {}).get("read") or SILENCE_S
        try:
            answer = await stack.enter_async_context(
                self._egress.open(
                    str(request.url),
                    method=request.method,
                    headers={name: value for name, value in request.headers.items() if name.lower() not in _OWN},
                    body=await request.aread() or None,
                    named=self._named,
                    silence_s=STREAM_SILENCE_S if is_stream else silence_s,
                )
            )
        except TimedOut as error:
            raise httpx2.ReadTimeout(error.message) from error
        except HubError as error:
            raise httpx2.ConnectError(error.message) from error
        headers = [(name.lower(), value) for name, value in answer.headers.items()]
        return httpx2.Response(answer.status, headers=headers, stream=_Body(answer, stack))


class _Body(httpx2.AsyncByteStream):
    """An answer's body, within its bound."""

    def __init__(self, answer: aiohttp.ClientResponse, stack: AsyncExitStack) -> None:
        self._answer = answer
        self._stack = stack

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        bounded = self._answer.content_type != EVENTS
        if self._answer.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise httpx2.ReadError("its answer is compressed, although that was not requested")
        try:
            async for chunk in self._answer.content.iter_any():
                taken += len(chunk)
                if bounded and taken > BODY_LIMIT_BYTES:
                    raise httpx2.ReadError(f"its answer has more than {BODY_LIMIT_BYTES} bytes")
                yield chunk
        except TimeoutError as error:
            raise httpx2.ReadTimeout("it said nothing for too long") from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ReadError(str(error) or type(error).__name__) from error

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stack.aclose()
