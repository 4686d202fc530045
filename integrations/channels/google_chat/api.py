"""The Chat API and Pub/Sub as a service account, and what their failures mean for a message.

Source: https://developers.google.com/workspace/chat/api/reference/rest
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import DeliveryState
from integrations.channels.bearer_tokens import signed_token
from integrations.channels.google_chat.schema import API_ROOT, CALLER, PUBSUB_ROOT, TOKEN_URL
from integrations.channels.http_api import HttpApi, PlatformError, refusal_state, surely_not_sent

CHAT_SCOPE, PUBSUB_SCOPE = "https://www.googleapis.com/auth/chat.bot", "https://www.googleapis.com/auth/pubsub"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFE_S, EARLY_S = 3_600, 300.0
TOKEN_REFUSED, GONE = "token refused", "gone"
WRITES_PAUSE_S = 5.0
"""Google takes 60 writes a minute in a space, and does not say how long to wait."""
PULL_LIMIT_S = 120.0
"""Pub/Sub answers a pull without messages after about a minute and a half."""
PULLED = 20
PAGE, PAGES = 1_000, 10


class GoogleChatAccount(Struct, frozen=True, kw_only=True):
    """One entry of the configuration: it has an audience or a subscription."""

    service_account: Secret
    account: str = "default"
    audience: str | None = None
    subscription: str | None = None
    caller: str = CALLER
    api_root: str = API_ROOT
    pubsub_root: str = PUBSUB_ROOT
    token_url: str = TOKEN_URL
    certs_url: str | None = None


class GoogleChatApi(HttpApi):
    """Sends requests with a token of the service account, which it renews.

    Raises:
        ValueError: The service account's key is malformed.
    """

    def __init__(self, config: GoogleChatAccount, clock: Clock) -> None:
        super().__init__("Google Chat", config.api_root)
        held = json.loads(config.service_account.reveal())
        self.email, self._key_id = str(held["client_email"]), str(held.get("private_key_id") or "")
        self._config = config
        self._clock = clock
        self._key: RSAPrivateKey | None = None
        self._pem = str(held["private_key"])
        self._lock = asyncio.Lock()
        self._ends_at = float("-inf")

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        *,
        root: str = "",
        limit_s: float | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a request.

        Args:
            path: Such as `spaces/A/messages`.
            root: Of another API than Chat's.

        Raises:
            PlatformError: It was refused, failed, or the answer was lost.
        """
        url = f"{root or self.root}".rstrip("/") + "/v1/" + quote(path, safe="/:")
        await self.authorize()
        request: dict[str, Any] = {"json": body, "params": query, "limit_s": limit_s}
        answer = await self.request(method, url, headers=self._headers, **request)
        if answer.status == 401:  # it ends early when the key is deleted
            await self.authorize(renew=True)
            answer = await self.request(method, url, headers=self._headers, **request)
        data = answer.json
        if 200 <= answer.status < 300:
            return data if isinstance(data, dict) else {}
        error = data.get("error") if isinstance(data, dict) else None
        known = error if isinstance(error, dict) else {}
        text = f"{known.get('message') or 'refused without a reason'} ({known.get('status') or answer.status})"
        raise self.error(
            refusal_state(answer.status, own=bool(known)),
            text,
            status=answer.status,
            reason={401: TOKEN_REFUSED, 404: GONE}.get(answer.status, known.get("status")),
            retry_after_s=answer.retry_after_s or (WRITES_PAUSE_S if answer.status == 429 else None),
        )

    async def authorize(self, *, renew: bool = False) -> None:
        """Make sure of a token that is good.

        Raises:
            PlatformError: It is refused, or cannot be had now.
        """
        async with self._lock:
            if self._headers and not renew and self._clock.monotonic() < self._ends_at:
                return
            now = int(self._clock.time())
            scope = f"{CHAT_SCOPE} {PUBSUB_SCOPE}" if self._config.subscription else CHAT_SCOPE
            claims = {"iss": self.email, "scope": scope, "aud": self._config.token_url, "iat": now, "exp": now + LIFE_S}
            assertion = signed_token(claims, self._private_key(), self._key_id)
            with surely_not_sent():
                answer = await self.request(
                    "POST", self._config.token_url, data={"grant_type": GRANT, "assertion": assertion}
                )
            data = answer.json if isinstance(answer.json, dict) else {}
            if answer.status != 200 or not isinstance(data.get("access_token"), str):
                state = refusal_state(answer.status, own="error" in data)
                refused = state is DeliveryState.PERMANENT
                state = DeliveryState.TRANSIENT if state is DeliveryState.UNKNOWN else state
                text = f"no token: {data.get('error_description') or data.get('error') or answer.status}"
                raise self.error(
                    state, text.rstrip("."), status=answer.status, reason=TOKEN_REFUSED if refused else None
                )
            self._headers = {"Authorization": f"Bearer {data['access_token']}"}
            self._ends_at = self._clock.monotonic() + float(data.get("expires_in") or 0) - EARLY_S

    def _private_key(self) -> RSAPrivateKey:
        if self._key is None:
            try:
                # It is the owner's own; to look for what is wrong with its numbers takes 40 ms of the loop.
                key = load_pem_private_key(self._pem.encode(), None, unsafe_skip_rsa_key_validation=True)
            except (ValueError, TypeError) as error:
                raise self._malformed() from error
            if not isinstance(key, RSAPrivateKey):
                raise self._malformed()
            self._key = key
        return self._key

    def _malformed(self) -> PlatformError:
        text = "the private key of the service account is malformed"
        return self.error(DeliveryState.PERMANENT, text, reason=TOKEN_REFUSED)

    async def certificates(self, url: str) -> Any:
        """Return the keys that deliveries are signed with."""
        return (await self.request("GET", url)).json

    async def spaces(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the spaces that the app is in."""
        token = ""
        for _ in range(PAGES):
            page = await self.call("GET", "spaces", None, {"pageSize": str(PAGE), "pageToken": token})
            for each in page.get("spaces") or ():
                yield each
            if not (token := page.get("nextPageToken") or ""):
                return

    async def fetch(self, reference: str) -> AsyncIterator[bytes]:
        """Yield what somebody attached, by its resource name.

        Raises:
            PlatformError: It is not available.
        """
        if not reference:
            raise self.error(DeliveryState.PERMANENT, "a file is in Google Drive, which an app cannot read")
        await self.authorize()
        async for piece in self.download(f"{self.root}v1/media/{quote(reference, safe='/')}?alt=media", ()):
            yield piece

    # --- Pub/Sub ---

    async def pull(self) -> list[tuple[str, bytes]]:
        """Wait for messages of the subscription; return how each is acknowledged, and its data.

        Raises:
            PlatformError: It failed.
        """
        page = await self._subscribed("pull", {"maxMessages": PULLED}, PULL_LIMIT_S)
        found = page.get("receivedMessages") or ()
        return [(each["ackId"], base64.b64decode(each["message"].get("data") or "")) for each in found]

    async def may_pull(self) -> bool:
        """Return whether the account may fetch from the subscription; anybody may ask that."""
        right = "pubsub.subscriptions.consume"
        return right in (
            (await self._subscribed("testIamPermissions", {"permissions": [right]})).get("permissions") or ()
        )

    async def acknowledge(self, ids: list[str]) -> None:
        """Let Pub/Sub forget messages; it may repeat one all the same."""
        await self._subscribed("acknowledge", {"ackIds": ids})

    async def _subscribed(self, what: str, body: Any, limit_s: float | None = None) -> dict[str, Any]:
        path = f"{self._config.subscription}:{what}"
        return await self.call("POST", path, body, root=self._config.pubsub_root, limit_s=limit_s)
