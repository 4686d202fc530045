"""The Official Account API: one request at a time, and what its failure means for a message.

Source: https://developers.zalo.me/docs/official-account/phu-luc/ma-loi
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state
from integrations.channels.zalo_oa.login import ZaloLogin

FILE_HOSTS = (".zdn.vn", ".zadn.vn", ".zalo.me", ".zaloapp.com", ".dlfl.vn")
TOKEN_REFUSED = frozenset({-216, -220})
PAUSES_S: Mapping[int, float] = {-32: 60.0, -200: 5.0}
"""Limits on how much is asked, and failures of Zalo's own."""
MEANINGS = {
    -213: "they do not follow the official account",
    -217: "they do not take messages of the official account",
    -230: "they have not written for 7 days, after which Zalo takes no answer; they must write first",
    -211: "the account's allowance of messages is used up",
    -224: "the official account's package does not include this; see oa.zalo.me",
}


class ZaloOaApi(HttpApi):
    """Sends requests as one official account."""

    def __init__(self, root: str, login: ZaloLogin) -> None:
        super().__init__("Zalo", root)
        self._login = login

    async def close(self) -> None:
        """Close the connections."""
        await super().close()
        await self._login.close()

    async def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the data of an answer.

        Raises:
            AccountRefused: Zalo gives no access token any more.
            PlatformError: It was refused, failed, or the answer was lost; its reason is Zalo's code.
        """
        token = await self._login.token()
        try:
            return await self._call(method, path, token, request)
        except PlatformError as error:
            if error.reason not in TOKEN_REFUSED or not self._login.refuse(token):
                raise
        return await self._call(method, path, await self._login.token(), request)

    async def _call(self, method: str, path: str, token: str, request: Mapping[str, Any]) -> dict[str, Any]:
        answer = await self.request(method, path, headers={"access_token": token}, **request)
        data = answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        code = known.get("error")
        if answer.status == 200 and code == 0:
            found = known.get("data")
            return found if isinstance(found, dict) else {"data": found}
        if not isinstance(code, int):
            state = refusal_state(answer.status, own=False) if answer.status >= 400 else DeliveryState.UNKNOWN
            raise self.error(state, f"HTTP {answer.status} without a reason", retry_after_s=answer.retry_after_s)
        state = DeliveryState.TRANSIENT if code in PAUSES_S or answer.status >= 500 else DeliveryState.PERMANENT
        said = MEANINGS.get(code) or known.get("message") or "refused"
        raise self.error(state, f"{said} (code {code})", reason=code, retry_after_s=PAUSES_S.get(code))

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its address.

        Raises:
            PlatformError: It is not available, or not on Zalo's servers.
        """
        return self.download(reference, (), cdn=FILE_HOSTS)
