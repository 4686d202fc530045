"""The credentials of a mailbox: its password, or access tokens of OAuth 2.0, which end after an hour."""

from __future__ import annotations

import asyncio
import hashlib

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.models.contract import AuthError
from hub.models.oauth import OAuthTokens, refresh_tokens
from hub.models.oauth_endpoints import OAuthEndpoint
from integrations.channels.reconnecting import AccountRefused

RENEWED_BEFORE_S = 120.0
"""So long before it ends, an access token is replaced."""
HELP = "See docs/channels/email.md."
SIGN_IN = "Sign in with homarus channels link email, or on the page Channels of the dashboard."
REDIRECT_URL = "http://127.0.0.1:1457"
CONSENT = {"access_type": "offline", "prompt": "consent"}
"""Without them Google gives no refresh token to who has agreed before."""


class MailOAuth(Struct, frozen=True):
    """The `oauth` of a mailbox."""

    token_url: str
    client_id: str
    refresh_token: Secret | None = None
    client_secret: Secret | None = None
    authorize_url: str = ""
    device_url: str = ""
    scope: str = ""

    @property
    def endpoint(self) -> OAuthEndpoint:
        """Where the mailbox's owner signs in, and tokens come from."""
        return OAuthEndpoint(
            self.authorize_url,
            self.token_url,
            self.client_id,
            self.scope,
            REDIRECT_URL,
            CONSENT,
            client_secret=self.client_secret,
            device_url=self.device_url,
        )


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

    async def keep(self, tokens: OAuthTokens) -> None:
        """Keep what a sign-in gave; it is renewed from then on.

        Raises:
            InvalidRequest: It ends without being renewed.
        """
        if tokens.refresh is None or not isinstance(self._given, MailOAuth):
            raise InvalidRequest("The provider gave no refresh token: the scope lacks offline access.")
        await self._kept.save({"in_place_of": _origin(self._given), "refresh_token": tokens.refresh.reveal()})
        self._tokens, self._renewed_at = tokens, self._clock.time()

    def refusal(self, text: str) -> AccountRefused | Unavailable:
        """Return the error for a refused secret: an access token may have been revoked since."""
        if self._tokens is not None and self._clock.time() - self._renewed_at > RENEWED_BEFORE_S:
            self._tokens = None
            return Unavailable(f"{text}; another access token is tried")
        return AccountRefused(f"{text}. {HELP}")

    async def _renewed(self, oauth: MailOAuth, now: float) -> OAuthTokens:
        origin, kept = _origin(oauth), await self._kept.load({})
        refresh = Secret(kept["refresh_token"]) if kept.get("in_place_of") == origin else oauth.refresh_token
        if refresh is None:
            raise AccountRefused(f"Nobody has signed in to this mailbox yet. {SIGN_IN}")
        try:
            tokens = await refresh_tokens(oauth.endpoint, refresh, now)
        except AuthError as error:
            again = SIGN_IN if oauth.refresh_token is None else f"Get another refresh_token. {HELP}"
            raise AccountRefused(f"{error.message} {again}") from error
        if tokens.refresh is not None and tokens.refresh.reveal() != refresh.reveal():
            await self._kept.save({"in_place_of": origin, "refresh_token": tokens.refresh.reveal()})
        return tokens


def _origin(oauth: MailOAuth) -> str:
    """Return what tells whether a kept refresh token belongs to this configuration."""
    given = oauth.refresh_token.reveal() if oauth.refresh_token else f"{oauth.token_url} {oauth.client_id}"
    return hashlib.sha256(given.encode()).hexdigest()
