"""The Bot API: one request at a time, and what its failure means for a message.

Source: https://core.telegram.org/bots/api
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from hub.core.secret import Secret
from integrations.channels.http_api import HttpApi, refusal_state

UPLOAD_S = 120.0
_SENT_ANYWAY = "sent message was immediately deleted"
_DONE_ALREADY = ("message is not modified", "message to delete not found")


class TelegramApi(HttpApi):
    """Sends requests of one bot.

    Args:
        root: The Bot API server.
        limit_s: What an answer may take.
    """

    def __init__(self, root: str, token: Secret, limit_s: float) -> None:
        self._server = root.rstrip("/")
        self._token = token
        super().__init__("Telegram", f"{self._server}/bot{token.reveal()}", limit_s=limit_s)

    async def call(
        self,
        method: str,
        *,
        files: Mapping[str, tuple[str | None, bytes]] | None = None,
        patience_s: float = 0.0,
        **arguments: Any,
    ) -> Any:
        """Return the result of a method; None when what it should do was done before.

        Args:
            method: Its name.
            files: Names and contents of files, by argument.
            patience_s: How much longer than usual the answer may take.
            arguments: Those that are None are left out.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost; the reason is the id of the group where
                another took the place of the one that was named.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        form = aiohttp.FormData()
        for name, (filename, content) in (files or {}).items():
            form.add_field(name, content, filename=filename or name)
        for name, value in given.items() if files else ():
            form.add_field(name, value if isinstance(value, str) else json.dumps(value))
        limit_s = self._limit_s + patience_s + (UPLOAD_S if files else 0.0)
        body = {"data": form} if files else {"json": given}
        answer = await self.request("POST", method, limit_s=limit_s, **body)
        found = answer.json if isinstance(answer.json, dict) else {}
        if found.get("ok") is True:
            return found.get("result")
        status = found.get("error_code") or answer.status
        text = str(found.get("description") or f"{method} failed (HTTP {answer.status})")
        if any(done in text for done in _DONE_ALREADY):
            return None
        more = found.get("parameters") or {}
        raise self.error(
            refusal_state(status, own=found.get("ok") is False and _SENT_ANYWAY not in text),
            text,
            status=status,
            reason=more.get("migrate_to_chat_id"),
            retry_after_s=more.get("retry_after") or answer.retry_after_s,
        )

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file in pieces.

        Raises:
            PlatformError: It cannot be had.
        """
        path = (await self.call("getFile", file_id=reference))["file_path"]
        async for piece in self.download(f"{self._server}/file/bot{self._token.reveal()}/{path}", ()):
            yield piece
