"""Bounds the answers that litellm reads: no redirect, which could lead a key elsewhere, and no flood."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

ANSWER_LIMIT_BYTES = 64 * 1024 * 1024


def bound_answers() -> None:
    """Replace the one method through which litellm sends; takes effect for all clients, made before or later."""
    from litellm.llms.custom_httpx import aiohttp_transport

    transport, httpx = aiohttp_transport.LiteLLMAiohttpTransport, aiohttp_transport.httpx
    send = transport.handle_async_request

    class BoundedStream(httpx.AsyncByteStream):  # type: ignore[name-defined,misc]
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            taken = 0
            async for piece in self._stream:
                taken += len(piece)
                if taken > ANSWER_LIMIT_BYTES:
                    raise httpx.ReadError(f"the answer is longer than {ANSWER_LIMIT_BYTES // 2**20} MiB")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def handle_async_request(self: Any, request: Any) -> Any:
        # A compressed answer has no bound: a megabyte of it may be a gigabyte.
        request.headers["accept-encoding"] = "identity"
        response = await send(self, request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise httpx.ReadError(f"the answer is compressed ({encoding}), which was not asked for")
        if response.has_redirect_location:
            await response.aclose()
            host = httpx.URL(response.headers["location"]).host or request.url.host
            raise httpx.ReadError(f"the server redirects to {host}, which is not followed")
        return httpx.Response(
            response.status_code, headers=response.headers, stream=BoundedStream(response.stream), request=request
        )

    transport.handle_async_request = handle_async_request
