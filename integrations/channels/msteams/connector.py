"""The Bot Connector: tokens, requests to it, and what their failures mean for a message.

Source: https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi, refusal_state, surely_not_sent

SCOPE = "https://api.botframework.com/.default"
GRAPH, GRAPH_US = "https://graph.microsoft.com/.default", "https://graph.microsoft.us/.default"
TOKEN_REFUSED = "token refused"  # noqa: S105  a reason
GONE = "gone"
MEANINGS = {
    "BotDisabledByAdmin": "the administrator of Teams has switched the bot off",
    "BotNotInConversationRoster": "the bot is not in that chat or team; add it again",
    "ConversationBlockedByUser": "that person has blocked the bot",
}
"""What some refusals mean, by their codes."""
EARLY_S = 300.0
"""A token is renewed so long before its end."""
SERVICE_HOSTS = (
    "smba.trafficmanager.net",
    "smba.infra.gcc.teams.microsoft.com",
    "smba.infra.gov.teams.microsoft.us",
    "smba.infra.dod.teams.microsoft.us",
)
"""Teams in its public and government clouds; our token is shown to nobody else."""
FILE_HOSTS = (".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".1drv.com")
"""OneDrive and SharePoint, whose addresses carry their own permission."""
UPLOAD_LIMIT_S = 300.0


class TeamsAccount(Struct, frozen=True):
    """One entry of the configuration."""

    account: str
    app_id: str
    password: Secret
    tenant: str
    login_root: str
    openid_url: str
    service_root: str


class ConnectorApi(HttpApi):
    """Sends requests with the bot's token, which it renews."""

    def __init__(self, config: TeamsAccount, clock: Clock) -> None:
        super().__init__("Microsoft Teams", config.service_root)
        self._config = config
        self._clock = clock
        self._lock = asyncio.Lock()
        self._ends_at = float("-inf")

    def is_service(self, url: str) -> bool:
        """Whether an address is one of Teams, which may be shown the token."""
        return self._is_at(url, SERVICE_HOSTS)

    def _is_at(self, url: str, hosts: tuple[str, ...]) -> bool:
        parts = urlsplit(url)
        named = parts.scheme == "https" and parts.netloc == parts.hostname
        endings = tuple(each for each in hosts if each.startswith("."))
        ours = parts.netloc in hosts or parts.netloc.endswith(endings)
        return parts[:2] == urlsplit(self.root)[:2] or (named and ours)

    async def call(self, method: str, service: str, path: str, body: Any = None) -> dict[str, Any]:
        """Return the answer to a request to the Connector.

        Args:
            service: The root that the conversation's activities name.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        if not self.is_service(service):
            raise self.error(DeliveryState.PERMANENT, "the conversation is on a server that is not one of Teams")
        url = service.rstrip("/") + "/" + path
        await self.authorize()
        answer = await self.request(method, url, json=body, headers=self._headers)
        if answer.status == 401:  # it ends early when the secret is changed
            await self.authorize(renew=True)
            answer = await self.request(method, url, json=body, headers=self._headers)
        data = answer.json
        if 200 <= answer.status < 300:
            return data if isinstance(data, dict) else {}
        error = data.get("error") if isinstance(data, dict) else None
        known = error if isinstance(error, dict) else {}
        state = refusal_state(answer.status, own=bool(known))
        if answer.status == 412:  # two requests about one conversation met; nothing was done
            state = DeliveryState.TRANSIENT
        code = known.get("code")
        said = MEANINGS.get(str(code)) or known.get("message") or "refused without a reason"
        text = f"{said} ({code or answer.status})"
        reason = {401: TOKEN_REFUSED, 404: GONE}.get(answer.status, code)
        raise self.error(state, text, status=answer.status, reason=reason, retry_after_s=answer.retry_after_s)

    async def authorize(self, *, renew: bool = False) -> None:
        """Make sure of a token that is good.

        Raises:
            PlatformError: It is refused, or cannot be had now.
        """
        async with self._lock:
            if self._headers and not renew and self._clock.monotonic() < self._ends_at:
                return
            data = await self._token(SCOPE)
            self._headers = {"Authorization": f"Bearer {data['access_token']}"}
            self._ends_at = self._clock.monotonic() + float(data.get("expires_in") or 0) - EARLY_S

    async def graph_roles(self) -> list[str]:
        """Return the application permissions at Microsoft Graph that were granted to the app; its token names them.

        Raises:
            PlatformError: There is no such token.
        """
        is_us = (urlsplit(self._config.login_root).hostname or "").endswith(".us")
        told = str((await self._token(GRAPH_US if is_us else GRAPH))["access_token"]).split(".")
        try:  # it came from Microsoft just now, and gives nothing to anybody: its signature does not matter
            claims = json.loads(base64.urlsafe_b64decode(told[1] + "=="))
            return sorted(map(str, claims.get("roles") or ()))
        except (IndexError, ValueError, AttributeError, TypeError) as error:
            raise self.error(DeliveryState.PERMANENT, "the token for Microsoft Graph cannot be read") from error

    async def _token(self, scope: str) -> dict[str, Any]:
        """Return an answer with an access token for a service.

        Raises:
            PlatformError: It is refused, or cannot be had now.
        """
        form = {
            "grant_type": "client_credentials",
            "client_id": self._config.app_id,
            "client_secret": self._config.password.reveal(),
            "scope": scope,
        }
        root = self._config.login_root.rstrip("/")
        with surely_not_sent():
            answer = await self.request("POST", f"{root}/{self._config.tenant}/oauth2/v2.0/token", data=form)
        data = answer.json if isinstance(answer.json, dict) else {}
        if answer.status != 200 or not isinstance(data.get("access_token"), str):
            state = refusal_state(answer.status, own="error" in data)
            state = DeliveryState.TRANSIENT if state is DeliveryState.UNKNOWN else state
            refused = state is DeliveryState.PERMANENT
            first = str(data.get("error_description") or data.get("error") or answer.status).splitlines()[0].rstrip(".")
            reason = TOKEN_REFUSED if refused else None
            raise self.error(state, f"no token: {first}", status=answer.status, reason=reason)
        return data

    async def signing_keys(self) -> Any:
        """Return the keys that deliveries are signed with, as the platform's OpenID document names them."""
        described = (await self.request("GET", self._config.openid_url)).json
        return (await self.request("GET", described["jwks_uri"])).json

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield a file; those of OneDrive and SharePoint are not shown the token.

        Raises:
            PlatformError: It is not available.
        """
        await self.authorize()
        async for piece in self.download(reference, SERVICE_HOSTS, cdn=FILE_HOSTS):
            yield piece

    async def upload(self, url: str, content: bytes) -> None:
        """Put a file where somebody allowed it to be put.

        Raises:
            PlatformError: It is not a place of theirs, or was refused.
        """
        if not self._is_at(url, FILE_HOSTS):
            raise self.error(DeliveryState.PERMANENT, f"a file is not to be put on {urlsplit(url).hostname}")
        headers = {
            "Content-Range": f"bytes 0-{len(content) - 1}/{len(content)}",
            "Content-Type": "application/octet-stream",
        }
        answer = await self.request("PUT", url, data=content, headers=headers, limit_s=UPLOAD_LIMIT_S)
        if not 200 <= answer.status < 300:
            raise self.error(refusal_state(answer.status, own=False), f"a file was refused (HTTP {answer.status})")
