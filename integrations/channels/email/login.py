"""The credentials of a mailbox: its password, or access tokens of OAuth 2.0, which end after an hour."""

from __future__ import annotations

import asyncio
import hashlib

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.models.contract import AuthError
from hub.models.oauth import OAuthTokens, refresh_tokens
from hub.models.oauth_endpoints import OAuthEndpoint
from integrations.channels.reconnecting import AccountRefused

RENEWED_BEFORE_S = 120.0
"""So long before it ends, an access token is replaced."""
HELP = "See docs/channels/email.md."


class MailOAuth(Struct, frozen=True):
    """The `oauth` of a mailbox."""

    token_url: str
    client_id: str
    refresh_token: Secret
    client_secret: Secret | None = None


class MailLogin:
    """Gives the secret of one mailbox.

    Args:
        given: The password, or the source of access tokens.
        kept: Stores the refresh tokens that the provider gives in place of the configured one.
    """

    def __init__(self, given: Secret | MailOAuth, kept: JsonStorage, clock: Clock) -> None:
        self._given = given
        self._kept = kept
        self._clock = clock
        self._lock = asyncio.Lock()
        self._tokens: OAuthTokens | None = None
        self._renewed_at = 0.0

    async def secret(self) -> Secret:
        """Return the password, or an access token that is good for a while.

        Raises:
            AccountRefused: The provider gives no access token any more.
            HubError: It cannot be reached, or its answer cannot be kept.
        """
        if isinstance(self._given, Secret):
            return self._given
        async with self._lock:
            now = self._clock.time()
            if self._tokens is None or (self._tokens.expires or now) - now < RENEWED_BEFORE_S:
                self._tokens = await self._renewed(self._given, now)
                self._renewed_at = now
            return self._tokens.access

    def refusal(self, text: str) -> AccountRefused | Unavailable:
        """Return the error for a refused secret: an access token may have been revoked since."""
        if self._tokens is not None and self._clock.time() - self._renewed_at > RENEWED_BEFORE_S:
            self._tokens = None
            return Unavailable(f"{text}; another access token is tried")
        return AccountRefused(f"{text}. {HELP}")

    async def _renewed(self, oauth: MailOAuth, now: float) -> OAuthTokens:
        endpoint = OAuthEndpoint("", oauth.token_url, oauth.client_id, client_secret=oauth.client_secret)
        configured = hashlib.sha256(oauth.refresh_token.reveal().encode()).hexdigest()
        kept = await self._kept.load({})
        refresh = Secret(kept["refresh_token"]) if kept.get("in_place_of") == configured else oauth.refresh_token
        try:
            tokens = await refresh_tokens(endpoint, refresh, now)
        except AuthError as error:
            raise AccountRefused(f"{error.message} Get another refresh_token. {HELP}") from error
        if tokens.refresh is not None and tokens.refresh.reveal() != refresh.reveal():
            await self._kept.save({"in_place_of": configured, "refresh_token": tokens.refresh.reveal()})
        return tokens
