"""The access tokens of an official account: each ends after a day, and each refresh token works once."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import DeliveryState
from integrations.channels.http_api import HttpApi
from integrations.channels.reconnecting import AccountRefused

RENEWED_BEFORE_S = 600.0
HELP = "See docs/channels/zalo_oa.md."


class ZaloLogin:
    """Gives an access token that is good for a while.

    Args:
        refresh_token: The configured one; those that Zalo gives in its place are kept on disk, and another one in the
            configuration replaces them.
        kept: Keeps the tokens; both are on disk before they are used.
    """

    def __init__(
        self, root: str, app_id: str, app_secret: Secret, refresh_token: Secret, kept: JsonStorage, clock: Clock
    ) -> None:
        self._api = HttpApi("Zalo", root, {"secret_key": app_secret.reveal()})
        self._app_id = app_id
        self._configured = refresh_token
        self._kept = kept
        self._clock = clock
        self._lock = asyncio.Lock()
        self._refused: str | None = None

    async def token(self) -> str:
        """Return an access token.

        Raises:
            AccountRefused: Zalo gives none any more.
            HubError: It cannot be reached, or its answer cannot be kept.
        """
        async with self._lock:
            kept = await self._load()
            is_old = float(kept.get("until", 0.0)) - self._clock.time() < RENEWED_BEFORE_S
            if is_old or kept.get("access_token") == self._refused:
                kept = await self._renewed(str(kept["refresh_token"]))
            return str(kept["access_token"])

    def refuse(self, token: str) -> bool:
        """Note that Zalo did not take a token; return whether another one is worth a try."""
        first = self._refused is None
        self._refused = token
        return first

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()

    async def _load(self) -> dict[str, Any]:
        kept: dict[str, Any] = await self._kept.load({})
        given = self._configured.reveal()
        is_same = kept.get("in_place_of") == hashlib.sha256(given.encode()).hexdigest()
        return kept if is_same else {"refresh_token": given}

    async def _renewed(self, refresh_token: str) -> dict[str, Any]:
        form = {"refresh_token": refresh_token, "app_id": self._app_id, "grant_type": "refresh_token"}
        answer = await self._api.request("POST", "v4/oa/access_token", data=form)
        data = answer.json if isinstance(answer.json, dict) else {}
        if not data.get("access_token") or not data.get("refresh_token"):
            if data.get("error") is None:
                raise self._api.error(DeliveryState.TRANSIENT, f"no access token was given (HTTP {answer.status})")
            said = data.get("error_description") or data.get("error_name") or data["error"]
            raise AccountRefused(f"Zalo gives no access token: {said}. Get another refresh_token. {HELP}")
        kept = {
            "in_place_of": hashlib.sha256(self._configured.reveal().encode()).hexdigest(),
            "access_token": data["access_token"],
            "refresh_token": data["refresh_token"],
            "until": self._clock.time() + float(data.get("expires_in") or 3_600),
        }
        await self._kept.save(kept)
        self._refused = None
        return kept
