"""The Bot API: one request at a time, and what its failure means for a message.

Source: https://bot.zaloplatforms.com/docs
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from hub.core.secret import Secret
from integrations.channels.http_api import HttpApi, refusal_state

PHOTO_HOSTS = (".zdn.vn", ".zadn.vn", ".zalo.me", ".zaloapp.com", ".zaloplatforms.com")
IDLE = 408
"""What a poll answers when nothing was said."""
REFUSED = frozenset({401, 403, 404})


class ZaloApi(HttpApi):
    """Sends requests as one bot; the token is in their addresses."""

    def __init__(self, root: str, token: Secret) -> None:
        super().__init__("Zalo", f"{root.rstrip('/')}/bot{token.reveal()}")

    async def call(self, method: str, *, limit_s: float | None = None, **parameters: Any) -> dict[str, Any]:
        """Return the result of a method.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost; its reason is Zalo's code.
        """
        answer = await self.request("POST", method, limit_s=limit_s, json=parameters)
        data = answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if answer.status == 200 and known.get("ok") is True:
            result = known.get("result")
            return result if isinstance(result, dict) else {}
        own = known.get("ok") is False
        code = known.get("error_code") if own else None
        status = code if isinstance(code, int) else answer.status
        if own and status < 400:
            status = 400
        said = known.get("description") or f"HTTP {answer.status} without a reason"
        raise self.error(
            refusal_state(status, own=own), f"{said} (code {status})", reason=status, retry_after_s=answer.retry_after_s
        )

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a picture by its address.

        Raises:
            PlatformError: It is not available, or not on Zalo's servers.
        """
        return self.download(reference, (), cdn=PHOTO_HOSTS)
