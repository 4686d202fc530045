"""ntfy's API: one request at a time, the stream of messages, and what a failure means for a message.

Source: https://docs.ntfy.sh/publish and https://docs.ntfy.sh/subscribe/api
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import CONNECT_LIMIT_S, HttpAnswer, HttpApi, PlatformError, refusal_state

PAUSES_S = {42901: 10.0, 42908: 3_600.0}
"""How long to wait after some refusals, by ntfy's codes: too many requests, and the day's messages used up."""
PAUSE_S = 60.0
HELP = {
    40101: "the token or the password is wrong",
    40301: "the topic is not open to this account",
    41301: "the file is larger than the server takes, or its room is used up",
}
LINE_BYTES = 1_048_576
"""A longer event is left out."""

_FILE = re.compile(r"file/[-\w]{1,64}(\.\w{1,16})?", re.ASCII)

Json = dict[str, Any]


class NtfyApi(HttpApi):
    """Sends requests as one account.

    Args:
        token: An access token; else the user and the password, if there are such.
    """

    def __init__(self, url: str, token: Secret | None, user: str | None, password: Secret | None) -> None:
        headers = {}
        if token is not None:
            headers["Authorization"] = bearer(token)
        elif user is not None and password is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password.reveal()}'.encode()).decode()}"
        super().__init__("ntfy", url, headers)

    async def publish(self, topic: str, content: bytes, headers: Mapping[str, str]) -> str:
        """Publish a message or a file; return its id.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        answer = await self.request("POST", topic, data=content, headers={**(self._headers or {}), **headers})
        found = answer.json
        if answer.status == 200 and isinstance(found, dict) and found.get("id"):
            return str(found["id"])
        raise self._refused(answer)

    async def may_read(self, topics: str) -> bool:
        """Whether the account may read some topics.

        Raises:
            PlatformError: It is not known to the server, or that does not answer.
        """
        answer = await self.request("GET", f"{topics}/auth")
        if answer.status == 403:
            return False
        if answer.status != 200 or not isinstance(answer.json, dict):
            raise self._refused(answer)
        return True

    async def past(self, topics: str, since: str) -> list[Json]:
        """Return what the server still knows of some topics, oldest first.

        Raises:
            PlatformError: It was refused, or the server does not answer.
        """
        answer = await self.request("GET", f"{topics}/json", params={"poll": "1", "since": since})
        if answer.status != 200:
            raise self._refused(answer)
        return [each for line in answer.body.splitlines() if isinstance(each := json.loads(line), dict)]

    async def stream(self, topics: str, since: str, silence_s: float) -> AsyncIterator[bytes]:
        """Yield events of some topics as they come, each in JSON.

        Args:
            since: Id of the last message that was read, or a time in seconds, or `all`.
            silence_s: How long nothing may come; ntfy says every 45 seconds that it is there.

        Raises:
            PlatformError: It was refused, or the connection broke.
        """
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_LIMIT_S, sock_read=silence_s)
        asked: Json = {"params": {"since": since}, "headers": self._headers, "timeout": timeout}
        try:
            async with self.session.get(f"{self.root}{topics}/json", allow_redirects=False, **asked) as response:
                if response.status != 200:
                    raise self._refused(HttpAnswer(response.status, response.headers, await response.read()))
                async for line in lines(response.content):
                    yield line
        except (aiohttp.ClientError, TimeoutError, OSError) as error:  # their text may show the topics
            raise self.error(DeliveryState.TRANSIENT, f"the stream broke off: {type(error).__name__}") from error

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield an attachment that is among the files of the server itself.

        Whoever writes a message chooses the address, and elsewhere on the server the account's login opens more.

        Raises:
            PlatformError: It is elsewhere, or cannot be had.
        """
        if not (reference.startswith(self.root) and _FILE.fullmatch(reference[len(self.root) :])):
            raise self.error(DeliveryState.PERMANENT, "a file is not on its servers, or none of its files")
        async for piece in self.download(reference, ()):
            yield piece

    def _refused(self, answer: HttpAnswer) -> PlatformError:
        status, found = answer.status, answer.json
        known: Json = found if isinstance(found, dict) and "code" in found else {}
        code = known.get("code")
        text = HELP.get(code or 0) or known.get("error") or f"failed (HTTP {status})"
        wait = answer.retry_after_s or (PAUSES_S.get(code or 0, PAUSE_S) if status == 429 else None)
        state = refusal_state(status, own=bool(known)) if status >= 300 else DeliveryState.UNKNOWN
        return self.error(state, text, status=status, reason=code, retry_after_s=wait)


def bearer(token: Secret) -> str:
    """Return the value of the header that shows a token."""
    return f"Bearer {token.reveal()}"


async def lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines; aiohttp's own reader breaks off at one of 128 KB, and would again at each new connection."""
    held = b""
    async for piece in content.iter_any():
        *lines, held = (held + piece).split(b"\n")
        for line in lines:
            yield line
        held = held[-LINE_BYTES:]  # what is left of a longer one is no JSON
