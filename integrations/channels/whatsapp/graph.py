"""The Graph API: one request at a time, and what its failure means for a message.

Source: https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState

REQUEST_LIMIT_S = 35.0
"""With the wait for a status it is less than what the outbox waits for a message."""
PIECE_BYTES = 65_536
TOKEN_REFUSED = 190
PAUSES_S: Mapping[int, float | None] = {4: 60.0, 80007: 60.0, 130429: 10.0, 131048: 300.0, 131056: 6.0}
"""Limits on how much is sent, and how long to wait; Meta does not say it."""
MEANINGS = {
    TOKEN_REFUSED: "the access token is expired or was revoked",
    131026: "they cannot be reached: they have no WhatsApp, an old one, or did not accept its terms",
    131030: "the test number writes only to numbers of its list (WhatsApp → API Setup → To)",
    131047: "more than 24 hours have passed since they last wrote; they must write first",
    131051: "WhatsApp does not take this kind of message",
    131053: "WhatsApp does not take this kind of file",
}
_MEDIA_HOSTS = (".fbsbx.com", ".fbcdn.net", ".facebook.com", ".whatsapp.net")


class GraphError(HubError):
    """A request failed.

    Attributes:
        state: What that means for a message that it was to send.
        number: Meta's own code for it.
    """

    def __init__(
        self, state: DeliveryState, message: str, *, number: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(f"WhatsApp: {message}", retry_after_s=retry_after_s)
        self.state = state
        self.number = number


class GraphApi:
    """Sends requests with the account's token; it repeats none.

    Args:
        session: Closed by its owner.
        root: The API, with its version.
    """

    def __init__(self, session: aiohttp.ClientSession, root: str, token: Secret) -> None:
        self.session = session
        self._root = root.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token.reveal()}"}

    async def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            GraphError: It was refused, failed, or the answer was lost.
        """
        url = f"{self._root}/{path}"
        try:
            async with self.session.request(
                method, url, headers=self._headers, allow_redirects=False, **request
            ) as response:
                status, retry_after, raw = response.status, response.headers.get("Retry-After"), await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise GraphError(DeliveryState.TRANSIENT, f"cannot be reached: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise GraphError(DeliveryState.UNKNOWN, f"did not answer: {error!r}") from error
        try:
            answer = orjson.loads(raw)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and status == 200:
            return answer
        raise _failure(status, retry_after, answer)

    async def fetch(self, id: str) -> AsyncIterator[bytes]:
        """Yield a file by its id; its address is good for minutes, and needs the token too.

        Raises:
            GraphError: It cannot be had.
        """
        url = str((await self.call("GET", id)).get("url", ""))
        parts = urlsplit(url)
        own = parts.scheme == "https" and (parts.hostname or "").endswith(_MEDIA_HOSTS)
        if not own and parts[:2] != urlsplit(self._root)[:2]:
            raise GraphError(DeliveryState.PERMANENT, f"a file is not on its servers but on {parts.hostname}")
        try:
            async with self.session.get(url, headers=self._headers, allow_redirects=False) as response:
                if response.status != 200:
                    raise GraphError(DeliveryState.PERMANENT, f"a file cannot be had (HTTP {response.status})")
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise GraphError(DeliveryState.TRANSIENT, f"a file broke off: {error!r}") from error


def describe(error: Mapping[str, Any]) -> str:
    """Return an error of Meta's for people."""
    code = error.get("code")
    details = (error.get("error_data") or {}).get("details") or error.get("message") or error.get("title") or "refused"
    return f"{MEANINGS.get(code) or details} (code {code})" if isinstance(code, int) else str(details)


def _failure(status: int, retry_after: str | None, answer: Any) -> GraphError:
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        error = {"message": f"HTTP {status} without a reason"}
    code, text = error.get("code"), describe(error)
    if status == 429 or code in PAUSES_S:
        asked = float(retry_after) if retry_after and retry_after.isdigit() else PAUSES_S.get(code or 0)
        return GraphError(DeliveryState.TRANSIENT, text, number=code, retry_after_s=asked)
    refused = 400 <= status < 500
    return GraphError(DeliveryState.PERMANENT if refused else DeliveryState.UNKNOWN, text, number=code)
