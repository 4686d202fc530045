"""Feishu's API: one request at a time, and what its failure means for a message.

Source: https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import aiohttp

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpAnswer, HttpApi, PlatformError, refusal_state, surely_not_sent

TOKEN_INVALID = frozenset({99991661, 99991663, 99991664, 99991668, 99991671})
SCOPE_MISSING = 99991672
TOO_OFTEN = frozenset({99991400, 230020})
FAILED_FOR_NOW = TOO_OFTEN | {1, 5000, 230049, 99991201, 1000040343, 1000040350}
"""Feishu is busy, the same message is being sent, or an earlier connection is still counted."""
GONE = frozenset({230011, 230110, 231003})
"""A message was taken back."""
MARKUP_REFUSED = frozenset({230099, 230025, 200800})
STREAM_CLOSED = 300309
MEANINGS = {
    230002: "the bot is not in that group",
    230006: "the app has no bot: switch on Bot under Features, and publish a version",
    230013: "that person may not use the bot: publish a version whose availability includes them",
    230018: "the group lets only its administrators write",
    230022: "Feishu refused the words as sensitive",
    230029: "that person has left the organisation",
    230034: "nobody has that id",
    230035: "the bot may not write there",
    230053: "that person wants no messages of the bot",
    SCOPE_MISSING: "the app lacks a permission",
}
EARLY_S = 300.0
"""How long before its end a token is replaced."""


class FeishuApi(HttpApi):
    """Sends requests with the token of an app, which it renews.

    Args:
        root: The server, without `open-apis`.
    """

    def __init__(self, root: str, app_id: str, app_secret: Secret, clock: Clock) -> None:
        self._authorization: dict[str, str] = {}
        super().__init__("Feishu", root, self._authorization)
        self._app_id = app_id
        self._app_secret = app_secret
        self._clock = clock
        self._good_until = 0.0
        self._renewing = asyncio.Lock()

    async def call(
        self, method: str, path: str, form: Callable[[], aiohttp.FormData] | None = None, **request: Any
    ) -> dict[str, Any]:
        """Return the answer to a request.

        Args:
            path: Below `open-apis`.
            form: Makes the body, in place of `json`.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        for last in (False, True):
            await self._authorize()
            if form is not None:
                request["data"] = form()
            answer = await self.request(method, f"open-apis/{path}", **request)
            try:
                return self.checked(answer)
            except PlatformError as error:
                if error.reason not in TOKEN_INVALID or last:
                    raise
                self._good_until = 0.0
        raise AssertionError

    async def _authorize(self) -> None:
        async with self._renewing:
            if self._clock.monotonic() < self._good_until:
                return
            given = {"app_id": self._app_id, "app_secret": self._app_secret.reveal()}
            with surely_not_sent():
                path = "open-apis/auth/v3/tenant_access_token/internal"
                answer = self.checked(await self.request("POST", path, json=given, headers={}))
            self._authorization["Authorization"] = f"Bearer {answer['tenant_access_token']}"
            self._good_until = self._clock.monotonic() + max(60.0, float(answer["expire"]) - EARLY_S)

    async def endpoint(self) -> dict[str, Any]:
        """Return where to open a long connection, and how often to ping there."""
        given = {"AppID": self._app_id, "AppSecret": self._app_secret.reveal()}
        answer = await self.request("POST", "callback/ws/endpoint", json=given, headers={"locale": "en"})
        data: dict[str, Any] = self.checked(answer)["data"]
        return data

    def checked(self, answer: HttpAnswer) -> dict[str, Any]:
        """Return what a successful answer holds.

        Raises:
            PlatformError: It is not one.
        """
        status, data = answer.status, answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        code = known.get("code")
        if status < 400 and code == 0:
            return known
        own = isinstance(code, int)
        state = refusal_state(status, own=own)
        if code in FAILED_FOR_NOW:
            state = DeliveryState.TRANSIENT
        elif own and status < 400:
            state = DeliveryState.PERMANENT
        wait: float | None = None
        if status == 429 or code in TOO_OFTEN:
            wait = answer.retry_after_s or 1.0
            with suppress(ValueError):
                wait = float(answer.headers.get("x-ogw-ratelimit-reset", ""))
        said = known.get("msg") or f"HTTP {status} without a reason"
        text = f"{MEANINGS[code]}: {said}" if code in MEANINGS else said
        raise self.error(state, f"{text} (code {code})" if own else text, reason=code, retry_after_s=wait)

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield the file of a message, by the ids of both and the kind.

        Raises:
            PlatformError: It is not available.
        """
        message, file, kind = reference.split("/")
        await self._authorize()
        url = f"{self.root}open-apis/im/v1/messages/{message}/resources/{file}?type={kind}"
        async for piece in self.download(url, ()):
            yield piece
