"""Mattermost's API: one request at a time, and what its failure means for a message.

Source: https://developers.mattermost.com/api-documentation
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, refusal_state

HELP = {
    "api.context.permissions.app_error": "the bot is not in there, or may not; add it to the team and the channel",
    "api.post.create_post.root_id.app_error": "the message that the thread hangs on is gone",
    "api.post.create_post.can_not_post_to_deleted.error": "the channel is archived",
    "api.file.upload_file.too_large_detailed.app_error": "the file is larger than the server takes",
    "api.bot.create_disabled": "the server has bots switched off",
}
"""What to do about some refusals, by their ids."""


class MattermostApi(HttpApi):
    """Sends requests with the bot's token.

    Args:
        url: The address of the server.
    """

    def __init__(self, url: str, token: Secret) -> None:
        super().__init__("Mattermost", f"{url.rstrip('/')}/api/v4", {"Authorization": f"Bearer {token.reveal()}"})

    async def call(self, method: str, path: str, **request: Any) -> Any:
        """Return the answer to a request.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        answer = await self.request(method, path, **request)
        status, data = answer.status, answer.json
        if status < 300 and data is not None:
            return data
        if method == "GET" and status < 300 and answer.body[:1] in (b"{", b"["):
            # Whoever writes a post fills its props with what they like; asking again brings the same.
            raise self.error(DeliveryState.PERMANENT, "an answer cannot be read", status=status)
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        own = "id" in known and "status_code" in known
        if status == 429:
            text = "too many requests"
        elif status < 400:
            text = f"answered something else (HTTP {status}); is the address that of the server?"
        else:
            text = HELP.get(known.get("id", "")) or known.get("message") or f"failed (HTTP {status})"
        wait = answer.retry_after_s or (1.0 if status == 429 else None)
        state = refusal_state(status, own=own)
        raise self.error(state, text, status=status, reason=known.get("id"), retry_after_s=wait)

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its id.

        Raises:
            PlatformError: It is not available.
        """
        return self.download(f"{self.root}files/{reference}", ())
