"""The endpoints and client data of provider sign-ins: plain data."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from hub.core.secret import Secret


class OAuthEndpoint(Struct, frozen=True):
    """The endpoint and client data of one provider's sign-in.

    Attributes:
        authorize_url: The page that a person opens.
        token_url: The address for exchanging a code and refreshing a token.
        client_id: The id of the application.
        scope: The requested scope.
        redirect_url: Where the page leads back to: an address on this machine that the hub listens on.
        extra: Further parameters of the page.
        api_key_exchange: Whether the identity is exchanged for an API key, which does not end.
        client_secret: The secret of an application that has one.
        device_url: Where a code is given that a person types on another device (RFC 8628).
    """

    authorize_url: str
    token_url: str
    client_id: str
    scope: str = ""
    redirect_url: str = "http://localhost:1455/auth/callback"
    extra: Mapping[str, str] = field(default_factory=dict)
    api_key_exchange: bool = False
    client_secret: Secret | None = None
    device_url: str = ""


CODEX = OAuthEndpoint(
    authorize_url="https://auth.openai.com/oauth/authorize",
    token_url="https://auth.openai.com/oauth/token",  # noqa: S106
    client_id="app_EMoamEEZ73f0CkXaXp7hrann",
    scope="openid profile email offline_access",
    extra={"id_token_add_organizations": "true", "codex_cli_simplified_flow": "true"},
    api_key_exchange=True,
)
"""OpenAI's sign-in as its Codex client does it, with the exchange for an API key of the account's organisation."""

PRESETS: Mapping[str, OAuthEndpoint] = {"openai": CODEX}
