"""The REST API of BlueBubbles: one request at a time, and what its failure means for a message.

Source: https://github.com/BlueBubblesApp/bluebubbles-server
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import aiohttp

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import PIECE_BYTES, HttpApi, PlatformError, refusal_state

REQUEST_LIMIT_S = 90.0
"""AppleScript is slow, and BlueBubbles answers when Messages has the message."""
IN_FLIGHT = "already queued"
IMESSAGE_ERROR = "iMessage Error"
_MEANINGS = {22: "they are not on iMessage", 4: "Messages did not get through"}


class BlueBubblesApi(HttpApi):
    """Sends requests with the server's password, which is in their addresses."""

    def __init__(self, root: str, password: Secret, limit_s: float = REQUEST_LIMIT_S) -> None:
        super().__init__("BlueBubbles", f"{root.rstrip('/')}/api/v1", limit_s=limit_s)
        self._password = {"password": password.reveal()}

    async def call(self, method: str, path: str, **request: Any) -> Any:
        """Return the `data` of an answer.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        answer = await self.request(method, path, params=self._password, **request)
        found = answer.json
        known: dict[str, Any] = found if isinstance(found, dict) else {}
        if answer.status == 200 and known.get("status") == 200:
            return known.get("data")
        raise self._refusal(answer.status, known)

    def _refusal(self, status: int, known: dict[str, Any]) -> PlatformError:
        error = known.get("error")
        details: dict[str, Any] = error if isinstance(error, dict) else {}
        said = str(details.get("message") or known.get("message") or f"HTTP {status} without a reason")
        state = refusal_state(status, own=bool(details))
        if IN_FLIGHT in said:
            state = DeliveryState.TRANSIENT
        elif details.get("type") == IMESSAGE_ERROR:
            # With the message, Messages itself says that it failed; without it, the server only stopped waiting.
            message = known.get("data")
            code = message.get("error") if isinstance(message, dict) else None
            state = DeliveryState.PERMANENT if code else DeliveryState.UNKNOWN
            said = f"{_MEANINGS.get(code, said)} (code {code})" if isinstance(code, int) and code else said
        return self.error(state, said, status=status)

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield an attachment by its guid.

        Raises:
            PlatformError: It is not available.
        """
        url = f"{self.root}attachment/{quote(reference, safe='')}/download"
        timeout = aiohttp.ClientTimeout(total=None, sock_read=self._limit_s)
        try:
            async with self.session.get(url, params=self._password, allow_redirects=False, timeout=timeout) as response:
                if response.status != 200:
                    raise self.error(
                        DeliveryState.PERMANENT, f"an attachment cannot be downloaded (HTTP {response.status})"
                    )
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self.error(DeliveryState.TRANSIENT, f"a download broke off: {type(error).__name__}") from error
