"""Slack's Web API: one request at a time, and what its failure means for a message.

Source: https://docs.slack.dev/apis/web-api
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState

REQUEST_LIMIT_S = 30.0
PIECE_BYTES = 65_536
FAILED_MIDWAY = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})


class SlackError(HubError):
    """A request failed.

    Attributes:
        state: What that means for a message that it was to send.
        error: Slack's own word for it; empty when it gave none.
    """

    def __init__(
        self, state: DeliveryState, message: str, *, error: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(f"Slack: {message}", retry_after_s=retry_after_s)
        self.state = state
        self.error = error


class SlackWeb:
    """Sends requests with the bot's token; it repeats none.

    Args:
        session: Closed by its owner.
        root: The API, without a method.
    """

    def __init__(self, session: aiohttp.ClientSession, root: str, token: Secret) -> None:
        self.session = session
        self._root = root
        self._token = token

    async def call(self, method: str, *, token: Secret | None = None, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a method; arguments that are None are left out.

        Raises:
            SlackError: It was refused, failed, or the answer was lost.
        """
        form = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in arguments.items()
            if value is not None
        }
        headers = {"Authorization": f"Bearer {(token or self._token).reveal()}"}
        status, retry_after, raw = await self._post(f"{self._root}/{method}", data=form, headers=headers)
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = None
        error = answer.get("error", "") if isinstance(answer, dict) else ""
        if status == 429 or error == "ratelimited":
            wait = float(retry_after) if retry_after and retry_after.isdigit() else 1.0
            raise SlackError(DeliveryState.TRANSIENT, f"{method}: too many requests", error=error, retry_after_s=wait)
        if status >= 500 or not isinstance(answer, dict) or error in FAILED_MIDWAY:
            raise SlackError(DeliveryState.UNKNOWN, f"{method} failed (HTTP {status} {error})", error=error)
        if not answer.get("ok"):
            needed = f" (needs {answer['needed']})" if "needed" in answer else ""
            raise SlackError(DeliveryState.PERMANENT, f"{method}: {error or status}{needed}", error=error)
        return answer

    async def upload(self, name: str, content: bytes) -> str:
        """Upload a file and return its id; it is shown to nobody yet."""
        place = await self.call("files.getUploadURLExternal", filename=name, length=len(content))
        status, _, _ = await self._post(place["upload_url"], data=content)
        if status != 200:
            raise SlackError(DeliveryState.TRANSIENT, f"{name} was not taken (HTTP {status})")
        return str(place["file_id"])

    async def fetch(self, file: str) -> AsyncIterator[bytes]:
        """Yield a file by its id.

        Raises:
            SlackError: It cannot be had.
        """
        info = (await self.call("files.info", file=file))["file"]
        url = info.get("url_private_download") or info.get("url_private") or ""
        parts = urlsplit(url)
        own = parts.scheme == "https" and (parts.hostname or "").endswith(".slack.com")
        if not own and parts[:2] != urlsplit(self._root)[:2]:
            raise SlackError(DeliveryState.PERMANENT, f"a file is not on its servers but on {parts.hostname}")
        headers = {"Authorization": f"Bearer {self._token.reveal()}"}
        try:
            async with self.session.get(url, headers=headers, allow_redirects=False) as response:
                signs_in = response.content_type == "text/html" and info.get("mimetype") != "text/html"
                if response.status != 200 or signs_in:
                    text = "a file cannot be read; the app needs the scope files:read"
                    raise SlackError(DeliveryState.PERMANENT, f"{text} (HTTP {response.status})")
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SlackError(DeliveryState.TRANSIENT, f"a file broke off: {error!r}") from error

    async def _post(self, url: str, **payload: Any) -> tuple[int, str | None, bytes]:
        try:
            async with self.session.post(url, allow_redirects=False, **payload) as response:
                return response.status, response.headers.get("Retry-After"), await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise SlackError(DeliveryState.TRANSIENT, f"cannot be reached: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SlackError(DeliveryState.UNKNOWN, f"did not answer: {error!r}") from error
