"""The Messaging API: one request at a time, and what its failure means for a message.

Sources: https://developers.line.biz/en/reference/messaging-api/#error-responses and …/docs/messaging-api/
retrying-api-request, handling-http-429-errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import RETRIED, HttpApi, PlatformError

INVALID_TOKEN = "invalid reply token"  # noqa: S105  what LINE says
"""Of a reply: it was used, or is too old."""
QUOTA = "monthly limit"
QUOTA_SPENT = (
    "the free messages of this month are used up; LINE still takes answers within a minute of a message, and takes "
    "others next month or with another plan"
)
NOT_SENT = "Failed to send messages"
PREPARING_LIMIT_S = 30
"""How long to wait until LINE has prepared a video or a sound."""


class LineApi(HttpApi):
    """Sends requests with the account's token.

    Args:
        data_root: Where the files of messages are.
    """

    def __init__(self, root: str, data_root: str, token: Secret, clock: Clock) -> None:
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        super().__init__("LINE", root, headers)
        self._data = HttpApi("LINE", data_root, headers)
        self._clock = clock

    async def close(self) -> None:
        """Close the connections."""
        await super().close()
        await self._data.close()

    async def call(self, method: str, path: str, *, retry_key: str | None = None, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Args:
            retry_key: With it, LINE does once what is asked for often; that it was done before is no error.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        if retry_key is not None:
            request["headers"] = {**(self._headers or {}), "X-Line-Retry-Key": retry_key}
        answer = await self.request(method, path, **request)
        data = answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if answer.status in (200, 202) or (answer.status == 409 and retry_key is not None):
            return known
        said = "; ".join(
            str(each)
            for each in (known.get("message"), *(e.get("message") for e in known.get("details") or ()))
            if each
        )
        if said.startswith(NOT_SENT):
            said = f"the account is not in that group, or that person has blocked it: {said}"
        if answer.status == 429 and QUOTA in said:
            raise self.error(DeliveryState.PERMANENT, QUOTA_SPENT, status=429)
        # LINE may have done what it answers with 5xx.
        state = DeliveryState.PERMANENT if 400 <= answer.status < 500 else DeliveryState.UNKNOWN
        if answer.status in RETRIED:
            state = DeliveryState.TRANSIENT
        is_spent = answer.status == 400 and said.lower().startswith(INVALID_TOKEN)
        raise self.error(
            state,
            f"{said or 'no reason given'} (HTTP {answer.status})",
            status=answer.status,
            reason=INVALID_TOKEN if is_spent else None,
            retry_after_s=answer.retry_after_s,
        )

    async def content(self, message_id: str, *, prepared: bool) -> AsyncIterator[bytes]:
        """Yield the file of a message.

        Args:
            prepared: Whether LINE prepares it first, as it does videos and sounds.

        Raises:
            PlatformError: It is not available.
        """
        path = f"v2/bot/message/{message_id}/content"
        for _ in range(PREPARING_LIMIT_S if prepared else 0):
            answer = await self._data.request("GET", f"{path}/transcoding")
            if not isinstance(answer.json, dict) or answer.json.get("status") != "processing":
                break
            await self._clock.sleep(1.0)
        async for piece in self._data.download(self._data.root + path, ()):
            yield piece


def id_of(answer: dict[str, Any]) -> str:
    """Return the id of a message that was sent; empty when LINE does not say it."""
    sent = answer.get("sentMessages") or [{}]
    return str(sent[0].get("id") or "")


def is_refused(error: PlatformError) -> bool:
    """Whether the access token is no longer good."""
    return error.status in (401, 403)
