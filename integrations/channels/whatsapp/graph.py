"""The Graph API: one request at a time, and what its failure means for a message.

Source: https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state

REQUEST_LIMIT_S = 35.0
"""With the wait for a status it is less than what the outbox waits for a message."""
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
MEDIA_HOSTS = (".fbsbx.com", ".fbcdn.net", ".facebook.com", ".whatsapp.net")


class GraphApi(HttpApi):
    """Sends requests with the account's token.

    Args:
        root: The API, with its version.
    """

    def __init__(self, root: str, token: Secret) -> None:
        super().__init__("WhatsApp", root, {"Authorization": f"Bearer {token.reveal()}"}, limit_s=REQUEST_LIMIT_S)
        self._token = token

    async def scopes(self) -> frozenset[str]:
        """Return what the token may do; empty when Meta does not tell it that."""
        try:
            found = await self.call("GET", "debug_token", params={"input_token": self._token.reveal()})
        except PlatformError as error:
            if error.state is not DeliveryState.PERMANENT:
                raise
            return frozenset()
        return frozenset(map(str, (found.get("data") or {}).get("scopes") or ()))

    async def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        answer = await self.request(method, path, **request)
        status, data = answer.status, answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if known and status == 200 and "error" not in known:
            return known
        error = known.get("error")
        own = isinstance(error, dict)
        if not isinstance(error, dict):
            error = {"message": f"HTTP {status} without a reason"}
        code = error.get("code")
        state = refusal_state(status, own=own)
        if code in PAUSES_S or error.get("is_transient"):
            state = DeliveryState.TRANSIENT
        wait = answer.retry_after_s or PAUSES_S.get(code or 0)
        raise self.error(state, describe(error), reason=code, retry_after_s=wait)

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its id; its address is good for minutes, and needs the token too.

        Raises:
            PlatformError: It is not available.
        """
        url = str((await self.call("GET", reference)).get("url", ""))
        async for piece in self.download(url, MEDIA_HOSTS):
            yield piece


def describe(error: Mapping[str, Any]) -> str:
    """Return an error of Meta's for people."""
    code = error.get("code")
    details = (error.get("error_data") or {}).get("details") or error.get("message") or error.get("title") or "refused"
    return f"{MEANINGS.get(code) or details} (code {code})" if isinstance(code, int) else str(details)
