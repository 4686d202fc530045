"""The Bot API: the library's bot over our session, and what each failure of it means for a message.

Source: https://core.telegram.org/bots/api
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from typing import Any, TypeVar

import aiohttp
from telegram import Bot
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)
from telegram.request import BaseRequest, RequestData

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state

UPLOAD_S = 120.0
MEANS: dict[type[TelegramError], tuple[DeliveryState, int]] = {
    BadRequest: (DeliveryState.PERMANENT, 400),
    ChatMigrated: (DeliveryState.PERMANENT, 400),
    InvalidToken: (DeliveryState.PERMANENT, 401),
    Forbidden: (DeliveryState.PERMANENT, 403),
    Conflict: (DeliveryState.PERMANENT, 409),
    RetryAfter: (DeliveryState.TRANSIENT, 429),
    NetworkError: (DeliveryState.TRANSIENT, 500),
}
"""What a refusal by Telegram itself means for a message, and its status."""
_TOLD_APART = (400, 401, 403, 404, 409)
"""Statuses that the library has classes for."""
_SENT_ANYWAY = "sent message was immediately deleted"
DONE_ALREADY = ("message is not modified", "message to delete not found")
T = TypeVar("T")

logging.getLogger("telegram").setLevel(logging.INFO)  # below that it logs what people say


class SessionRequest(BaseRequest):
    """Runs the library's requests in our session, which repeats none.

    Args:
        api: Knows the server and the token; addresses are relative to its root.
        limit_s: The time limit of an answer.
    """

    def __init__(self, api: HttpApi, limit_s: float) -> None:
        self._api = api
        self._limit_s = limit_s

    @property
    def read_timeout(self) -> float:
        """The time limit of an answer."""
        return self._limit_s

    async def initialize(self) -> None:
        """Nothing: the session is open."""

    async def shutdown(self) -> None:
        """Nothing: the session is closed by its owner."""

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        *_: Any,
        **__: Any,
    ) -> tuple[int, bytes]:
        """Return the status and body of an answer by Telegram itself.

        Raises:
            PlatformError: There was none; the library wraps it.
        """
        limit_s = self._limit_s if read_timeout is self.DEFAULT_NONE else read_timeout
        given = request_data or RequestData()
        body: dict[str, Any] = {"json": given.parameters}
        if given.contains_files:
            form = aiohttp.FormData()
            for name, (filename, content, mime_type) in given.multipart_data.items():
                form.add_field(name, content, filename=filename, content_type=mime_type)
            for name, value in given.json_parameters.items():
                form.add_field(name, value)
            body, limit_s = {"data": form}, limit_s + UPLOAD_S
        answer = await self._api.request(method, url, limit_s=limit_s, **body)
        told = answer.json
        found = told if isinstance(told, dict) else {}
        if found.get("ok") is True:
            return 200, answer.body
        status = found.get("error_code") or answer.status
        own = found.get("ok") is False
        text = str(found.get("description") or f"{url.strip('/')} failed (HTTP {answer.status})")
        state = refusal_state(status, own=own)
        if not own:  # the page of a proxy
            raise self._api.error(state, text, status=status, retry_after_s=answer.retry_after_s)
        if status not in _TOLD_APART:
            status = 400 if state is DeliveryState.PERMANENT else 500
        # The blank keeps the library from rewriting the words.
        return status, json.dumps(found | {"description": f" {text}"}).encode()


class TelegramApi(HttpApi):
    """Sends requests of one bot.

    Args:
        root: The Bot API server.
        limit_s: The time limit of an answer.

    Attributes:
        bot: Makes the requests; each is sent by handing it to `call`.
    """

    def __init__(self, root: str, token: Secret, limit_s: float) -> None:
        server = root.rstrip("/")
        self._files = f"{server}/file/bot{token.reveal()}"
        super().__init__("Telegram", f"{server}/bot{token.reveal()}", limit_s=limit_s)
        request = SessionRequest(self, limit_s)
        # Server and token are in our root: what the library does not know it cannot log or show.
        self.bot = Bot("in our root", _no_root, _no_root, request=request, get_updates_request=request)

    async def call(self, request: Awaitable[T]) -> T:
        """Return the result of a request of the bot's.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost; the reason is the id of the group where
                another took the place of the one that was named.
        """
        try:
            return await request
        except TelegramError as error:
            failure = self._failure(error)
        raise failure

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file in pieces.

        Raises:
            PlatformError: It is not available.
        """
        path = (await self.call(self.bot.get_file(reference))).file_path or ""
        async for piece in self.download(f"{self._files}/{path.lstrip('/')}", ()):
            yield piece

    def _failure(self, error: TelegramError) -> PlatformError:
        """Return our error for a failure of the library; the only place that maps them."""
        cause = error.__cause__
        if isinstance(cause, TelegramError):  # `do_api_request` puts words of its own before a refused token
            error, cause = cause, cause.__cause__
        if isinstance(cause, PlatformError):
            return cause
        if cause is not None:  # its text may show anything
            return self.error(DeliveryState.UNKNOWN, f"did not answer: {type(cause).__name__}")
        state, status = MEANS.get(type(error), (DeliveryState.UNKNOWN, 0))
        if _SENT_ANYWAY in error.message:
            state = DeliveryState.UNKNOWN
        new_chat = error.new_chat_id if isinstance(error, ChatMigrated) else None
        wait_s = seconds(error.retry_after) if isinstance(error, RetryAfter) else None
        return self.error(state, error.message.strip(), status=status, reason=new_chat, retry_after_s=wait_s)


def seconds(period: int | timedelta | None) -> float | None:
    """Return a period from the library in seconds; their type varies by version."""
    return period.total_seconds() if isinstance(period, timedelta) else period


def _no_root(_token: str) -> str:
    return ""
