"""Twilio's REST API: one request at a time, and what its failure means for a message.

Source: https://www.twilio.com/docs/api/errors
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state

MEDIA_HOSTS = (".twilio.com",)
MEDIA_CDN = (".twiliocdn.com", "s3-external-1.amazonaws.com")
TOKEN_REFUSED, NOT_ACTIVE, TOO_MANY = 20003, 20005, 20429
MEANINGS = {
    TOKEN_REFUSED: "the auth token is not that of the account",
    NOT_ACTIVE: "the account is not active",
    21211: "this is no number that can be written to",
    21608: "a trial account writes only to numbers that were verified in the console",
    21610: "they answered STOP; they must send START to the number first",
    21612: "this number cannot send to theirs",
    21614: "their number takes no SMS",
    30003: "their phone cannot be reached",
    30005: "their number does not exist, or is switched off",
    30006: "their number takes no SMS",
    30007: "the carrier took it for spam",
    30034: "the number is not registered with the carriers of the United States (A2P 10DLC)",
}


class TwilioApi(HttpApi):
    """Sends requests as one account."""

    def __init__(self, root: str, account_sid: str, auth_token: Secret) -> None:
        login = base64.b64encode(f"{account_sid}:{auth_token.reveal()}".encode()).decode()
        super().__init__("Twilio", f"{root}/2010-04-01/Accounts/{account_sid}", {"Authorization": f"Basic {login}"})

    async def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost; its reason is Twilio's code.
        """
        # The account itself is beside the root, and not below it.
        path = path or self.root.rstrip("/") + ".json"
        answer = await self.request(method, path, headers=self._headers, **request)
        data = answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if answer.status in (200, 201) and known:
            return known
        code = known.get("code")
        own = isinstance(code, int)
        state = refusal_state(answer.status, own=own)
        if code == TOO_MANY:
            state = DeliveryState.TRANSIENT
        said = describe(code, known.get("message")) if own else f"HTTP {answer.status} without a reason"
        raise self.error(state, said, status=answer.status, reason=code, retry_after_s=answer.retry_after_s)

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its address.

        Raises:
            PlatformError: It is not available, or not on Twilio's servers.
        """
        return self.download(reference, MEDIA_HOSTS, cdn=MEDIA_CDN)


def is_refusal(error: PlatformError) -> bool:
    """Whether Twilio does not take the account's token."""
    return error.status == 401 or error.reason in (TOKEN_REFUSED, NOT_ACTIVE)


def describe(code: Any, message: Any = None) -> str:
    """Return an error of Twilio's for people."""
    try:
        known = MEANINGS.get(int(code))
    except (TypeError, ValueError):
        return str(message or "no reason given")
    return f"{known or message or 'refused'} (code {code})"
