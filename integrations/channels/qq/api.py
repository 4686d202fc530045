"""QQ's API: one request at a time, with a token that is renewed, and what its failure means for a message.

Source: https://bot.q.qq.com/wiki/develop/api-v2/
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, refusal_state, surely_not_sent
from integrations.channels.reconnecting import AccountRefused

RENEW_BEFORE_S = 60.0
"""In the last minute of a token QQ gives another one, and takes both."""
TOKEN_REFUSED = frozenset({11241, 11242, 11243, 11244, 11251, 11252})
BAD_LOGIN = frozenset({100007, 100016, 11251})
RATE_LIMITED = frozenset({22009, 100001, 40034100, 1100100, 1100308})
RATE_PAUSE_S = 10.0
FOR_NOW = frozenset({11281, 11282, 40034004, 50055001, 50055002, 50055006, 1100300})
TOO_LATE = frozenset({304103, 40034005, 40034105, 40034128})
SENT_ALREADY = 40054005
LINKS_REFUSED = 40054010
FILE_HOSTS = (".qq.com", ".qq.com.cn", ".qpic.cn")


class QQLogin(Struct, frozen=True):
    """The credentials of a bot, and where they are good."""

    app_id: str
    secret: Secret
    api_root: str
    token_url: str


class QQApi(HttpApi):
    """Sends requests as one bot."""

    def __init__(self, login: QQLogin, clock: Clock) -> None:
        super().__init__("QQ", login.api_root)
        self._login = login
        self._clock = clock
        self._token = ""
        self._until = 0.0

    async def token(self) -> str:
        """Return the value of the header that logs in.

        Raises:
            AccountRefused: QQ does not know the bot or its secret.
            PlatformError: There is none for now.
        """
        if not self._token or self._clock.monotonic() >= self._until:
            asked = {"appId": self._login.app_id, "clientSecret": self._login.secret.reveal()}
            answer = await self.request("POST", self._login.token_url, json=asked)
            known = answer.json if isinstance(answer.json, dict) else {}
            if known.get("code") in BAD_LOGIN:
                raise AccountRefused(
                    "QQ refused the AppID or the AppSecret. Copy both again from Development settings at q.qq.com; a "
                    "new secret ends the old one."
                )
            if not known.get("access_token"):
                text = f"no token: {known.get('message') or 'refused'} (HTTP {answer.status}, {known.get('code')})"
                raise self.error(DeliveryState.TRANSIENT, text, retry_after_s=RATE_PAUSE_S)
            self._token = known["access_token"]
            self._until = self._clock.monotonic() + int(known["expires_in"]) - RENEW_BEFORE_S
        return f"QQBot {self._token}"

    def forget_token(self) -> None:
        """Ask for another token next time."""
        self._token = ""

    async def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Return the decoded answer; a token that is refused is renewed once.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        for renewed in (False, True):
            with surely_not_sent():
                try:
                    token = await self.token()
                except AccountRefused as error:
                    raise self.error(DeliveryState.TRANSIENT, str(error)) from error
            more = {} if body is None else {"json": body}
            answer = await self.request(method, path, headers={"Authorization": token}, **more)
            data = answer.json
            known: dict[str, Any] = data if isinstance(data, dict) else {}
            code = known.get("err_code") or known.get("code") or 0
            if answer.status < 400 and not code and (known or not answer.body):
                return known
            if code in TOKEN_REFUSED or answer.status == 401:
                self.forget_token()
                if not renewed:
                    continue
            text = f"{known.get('message') or 'refused'} (HTTP {answer.status}, code {code})"
            limited = code in RATE_LIMITED or answer.status == 429
            state = refusal_state(answer.status, own=bool(code))
            if limited or code in FOR_NOW:
                state = DeliveryState.TRANSIENT
            elif code in (*TOO_LATE, SENT_ALREADY, LINKS_REFUSED) or (code and answer.status < 400):
                state = DeliveryState.PERMANENT
            wait_s = answer.retry_after_s or (RATE_PAUSE_S if limited else None)
            raise self.error(state, text, status=answer.status, reason=code, retry_after_s=wait_s)
        raise AssertionError("unreachable")

    def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file of QQ's own servers; no token is sent to them."""
        return self.download(reference, (), cdn=FILE_HOSTS)
