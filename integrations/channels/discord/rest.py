"""Discord's REST API: one request at a time, and what its failure means for a message.

Source: https://discord.com/developers/docs/reference and …/topics/rate-limits
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import aiohttp

import hub
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState

REQUEST_LIMIT_S = 30.0
ROUTES_LIMIT = 1_000
"""Routes whose rate limit is remembered."""
PIECE_BYTES = 65_536
CDN_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
USER_AGENT = f"DiscordBot (homarus, {hub.__version__})"


class DiscordError(HubError):
    """A request failed.

    Attributes:
        state: What that means for a message that it was to send.
        status: The HTTP status; 0 when there was no answer.
        platform_code: Discord's own code; 0 when it gave none.
    """

    def __init__(
        self,
        state: DeliveryState,
        message: str,
        *,
        status: int = 0,
        platform_code: int = 0,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"Discord: {message}", retry_after_s=retry_after_s)
        self.state = state
        self.status = status
        self.platform_code = platform_code


class DiscordRest:
    """Sends requests as one bot; it repeats none.

    Args:
        session: Shared with the gateway; closed by its owner.
        root: The API, with its version.
    """

    def __init__(self, session: aiohttp.ClientSession, root: str, token: Secret, clock: Clock) -> None:
        self._session = session
        self._root = root
        self._headers = {"Authorization": f"Bot {token.reveal()}", "User-Agent": USER_AGENT}
        self._clock = clock
        self._free_at: dict[str, float] = {}

    async def call(self, method: str, path: str, body: Any = None, files: Sequence[tuple[str, str, bytes]] = ()) -> Any:
        """Return the decoded answer; None for an empty one.

        Args:
            path: Below the root.
            body: Sent as JSON.
            files: Name, MIME type and content of each file beside the body.

        Raises:
            DiscordError: It was refused, failed, or the answer was lost.
        """
        route = f"{method} {path.partition('?')[0]}"
        await self._clock.sleep(self._free_at.pop(route, 0.0) - self._clock.monotonic())
        payload: dict[str, Any] = {} if body is None else {"json": body}
        if files:
            form = aiohttp.FormData()
            form.add_field("payload_json", json.dumps(body), content_type="application/json")
            for index, (name, mime_type, content) in enumerate(files):
                form.add_field(f"files[{index}]", content, filename=PurePath(name).name, content_type=mime_type)
            payload = {"data": form}
        try:
            async with self._session.request(method, self._root + path, headers=self._headers, **payload) as response:
                raw = await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise DiscordError(DeliveryState.TRANSIENT, f"cannot be reached: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DiscordError(DeliveryState.UNKNOWN, f"did not answer: {error!r}") from error
        if response.headers.get("X-RateLimit-Remaining") == "0":
            self._note_limit(route, response.headers.get("X-RateLimit-Reset-After"))
        return _decoded(response, raw)

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        """Yield a file of Discord's own servers; the token is not sent along.

        Raises:
            DiscordError: It is elsewhere, or cannot be had.
        """
        parts = urlsplit(url)
        own = parts.scheme == "https" and parts.hostname in CDN_HOSTS
        if not own and parts[:2] != urlsplit(self._root)[:2]:
            raise DiscordError(DeliveryState.PERMANENT, f"an attachment is not on its servers but on {parts.hostname}")
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status != 200:
                    raise DiscordError(
                        DeliveryState.PERMANENT,
                        f"the attachment is gone (HTTP {response.status})",
                        status=response.status,
                    )
                async for piece in response.content.iter_chunked(PIECE_BYTES):
                    yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DiscordError(DeliveryState.TRANSIENT, f"the attachment broke off: {error!r}") from error

    def _note_limit(self, route: str, reset_after: str | None) -> None:
        if len(self._free_at) >= ROUTES_LIMIT:
            self._free_at.clear()
        self._free_at[route] = self._clock.monotonic() + min(_seconds(reset_after) or 0.0, REQUEST_LIMIT_S)


def _decoded(response: aiohttp.ClientResponse, raw: bytes) -> Any:
    status = response.status
    try:
        data = json.loads(raw) if raw else None
    except ValueError as error:
        if status < 400:
            raise DiscordError(DeliveryState.UNKNOWN, "answered with broken JSON", status=status) from error
        data = None
    if status < 400:
        return data
    known: dict[str, Any] = data if isinstance(data, dict) else {}
    text = f"{known.get('message') or response.reason or 'refused'} (HTTP {status}, code {known.get('code', 0)})"
    if "errors" in known:
        text += f": {json.dumps(known['errors'])[:300]}"
    if status == 429:
        wait = known.get("retry_after", response.headers.get("Retry-After"))
        raise DiscordError(DeliveryState.TRANSIENT, text, status=status, retry_after_s=_seconds(wait) or 1.0)
    state = DeliveryState.UNKNOWN if status >= 500 else DeliveryState.PERMANENT
    code = known.get("code")
    raise DiscordError(state, text, status=status, platform_code=code if isinstance(code, int) else 0)


def _seconds(value: Any) -> float | None:
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return None
