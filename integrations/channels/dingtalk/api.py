"""DingTalk's API: one request at a time, and what its failure means for a message.

Source: https://open.dingtalk.com/document/orgapp/server-api-error-codes-1
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpAnswer, HttpApi, PlatformError, refusal_state, surely_not_sent

TOKEN_HEADER = "x-acs-dingtalk-access-token"  # noqa: S105  a header's name
TOKEN_INVALID = frozenset({"InvalidAuthentication", "Forbidden.AccessDenied.InvalidToken", 40014, 42001})
TOO_OFTEN = frozenset({90018, 90002, 88, 130101, 660026})
BUSY = frozenset({-1, 15})
"""Codes of the old API: it says that it failed, and nothing was done."""
MEANINGS = {400013: "the group was dissolved", 400106: "the robot is not in that group; add it again"}
"""What some refusals mean, by their codes."""
PAUSE_S = 60.0
EARLY_S = 300.0
"""How long before its end a token is replaced."""
FILE_HOSTS = (".aliyuncs.com", ".dingtalk.com", ".alicdn.com")


class DingTalkApi(HttpApi):
    """Sends requests with the token of an app, which it renews.

    Args:
        roots: Of the API, and of the old one.
    """

    def __init__(self, roots: tuple[str, str], login: tuple[str, Secret], robot_code: str, clock: Clock) -> None:
        self._authorization: dict[str, str] = {}
        super().__init__("DingTalk", roots[0], self._authorization)
        self._old_root = roots[1].rstrip("/")
        self._client_id, self._secret = login
        self.robot_code = robot_code
        self._clock = clock
        self._good_until = 0.0
        self._renewing = asyncio.Lock()

    async def call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        for last in (False, True):
            await self._token()
            try:
                return self.checked(await self.request(method, path, **request))
            except PlatformError as error:
                if error.reason not in TOKEN_INVALID or last:
                    raise
                self._good_until = 0.0
        raise AssertionError

    async def _token(self) -> str:
        async with self._renewing:
            if self._clock.monotonic() >= self._good_until:
                given = {"appKey": self._client_id, "appSecret": self._secret.reveal()}
                with surely_not_sent():
                    answer = await self.request("POST", "v1.0/oauth2/accessToken", json=given, headers={})
                    found = self.checked(answer)
                self._authorization[TOKEN_HEADER] = str(found["accessToken"])
                self._good_until = self._clock.monotonic() + max(60.0, float(found["expireIn"]) - EARLY_S)
            return self._authorization[TOKEN_HEADER]

    async def check_login(self) -> None:
        """Ask whether the app is still accepted.

        Raises:
            PlatformError: It is not, or DingTalk cannot be reached.
        """
        self._good_until = 0.0
        await self._token()

    async def open_stream(self, topics: tuple[str, ...]) -> dict[str, Any]:
        """Return where to open a connection for these topics, and the ticket for it."""
        subscriptions = [{"type": "CALLBACK", "topic": each} for each in topics]
        given = {"clientId": self._client_id, "clientSecret": self._secret.reveal(), "ua": "homarus"}
        body = {**given, "subscriptions": subscriptions, "localIp": ""}
        return self.checked(await self.request("POST", "v1.0/gateway/connections/open", json=body, headers={}))

    async def post_to_session(self, url: str, body: dict[str, Any]) -> None:
        """Send a message by the address that came with one."""
        self.checked(await self.request("POST", url, json=body))

    async def upload(self, kind: str, name: str, content: bytes) -> str:
        """Upload a file and return its id; it is shown to nobody yet."""
        form = aiohttp.FormData({"type": kind})
        form.add_field("media", content, filename=name)
        with surely_not_sent():
            params = {"access_token": await self._token()}
            answer = await self.request("POST", f"{self._old_root}/media/upload", params=params, data=form)
            return str(self.checked(answer)["media_id"])

    async def ask_old(self, path: str, **given: Any) -> dict[str, Any]:
        """Return the answer to a request to the old API."""
        params = {"access_token": await self._token()}
        return self.checked(await self.request("POST", f"{self._old_root}/{path}", params=params, json=given))

    def checked(self, answer: HttpAnswer) -> dict[str, Any]:
        """Return what a successful answer holds.

        Raises:
            PlatformError: It is not one.
        """
        status, data = answer.status, answer.json
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        code: int | str | None = known.get("errcode") or (known.get("code") if status >= 400 else None)
        if known and status < 400 and not code:
            return known
        own = code is not None
        state = refusal_state(status, own=own)
        limited = status == 429 or code in TOO_OFTEN or "QpsLimit" in str(code)
        if limited or code in BUSY:
            state = DeliveryState.TRANSIENT
        elif own and status < 400:
            state = DeliveryState.PERMANENT
        said = known.get("message") or known.get("errmsg") or f"HTTP {status} without a reason"
        said = f"{MEANINGS[code]}: {said}" if code in MEANINGS else said
        wait = (answer.retry_after_s or PAUSE_S) if limited else None
        raise self.error(state, f"{said} ({code})" if own else said, reason=code, retry_after_s=wait)

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file by its download code.

        Raises:
            PlatformError: It is not available.
        """
        given = {"downloadCode": reference, "robotCode": self.robot_code}
        url = str((await self.call("POST", "v1.0/robot/messageFiles/download", json=given))["downloadUrl"])
        if urlsplit(url)[:2] != urlsplit(self.root)[:2]:
            url = url.replace("http://", "https://", 1)  # DingTalk's storage has both
        async for piece in self.download(url, (), cdn=FILE_HOSTS):
            yield piece

    def is_own(self, url: str) -> bool:
        """Whether an address is on DingTalk's servers."""
        parts = urlsplit(url)
        if parts[:2] in (urlsplit(self.root)[:2], urlsplit(self._old_root)[:2]):
            return True
        return parts.scheme == "https" and (parts.hostname or "").endswith(".dingtalk.com")
