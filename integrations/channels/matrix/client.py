"""The library's client, for which a homeserver in trouble is an error whatever its answer looks like.

Of itself it takes a gateway's page of HTML for success, where success has no fields. Imported on first use.
"""

from __future__ import annotations

from typing import Any

from aiohttp import ClientError, ClientResponse
from nio import AsyncClient

from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import PlatformError
from integrations.channels.matrix.answers import server_error

RETRY_S = 5.0


class MatrixClient(AsyncClient):  # type: ignore[misc]
    """A client that raises `PlatformError` at 429 and 5xx."""

    async def send(self, *args: Any, **more: Any) -> ClientResponse:
        """Send a request; see `AsyncClient.send`."""
        response: ClientResponse = await super().send(*args, **more)
        if response.status == 429:
            wait = await _retry_after_s(response)
            text = f"the homeserver wants fewer requests, the next in {wait:g} s"
            raise PlatformError(DeliveryState.TRANSIENT, text, retry_after_s=wait)
        if response.status >= 500:
            response.release()
            raise server_error(f"the homeserver answers {response.status}")
        return response


async def _retry_after_s(response: ClientResponse) -> float:
    try:
        stated = (await response.json(content_type=None))["retry_after_ms"] / 1000
    except (ClientError, ValueError, TypeError, LookupError, OSError):
        header = response.headers.get("Retry-After", "")
        stated = float(header) if header.isascii() and header.isdigit() else 0.0
    return float(stated) if stated > 0 else RETRY_S
