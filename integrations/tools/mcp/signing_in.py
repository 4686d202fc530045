"""Signing in to a server by OAuth: the authorization code with PKCE, as the protocol's SDK does it.

The tokens are one file of `.storage`, readable by the hub alone. Format:
https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from hub.core.clock import Clock
from hub.core.errors import TimedOut
from hub.integration.json_storage import JsonStorage
from integrations.tools.mcp.coming_back import McpSignIns

SIGN_IN_S = 600.0
"""How long a person may take."""
RENEW_EARLY_S = 30.0
CLIENT_NAME = "Homarus"


class McpTokens:
    """The stored result of signing in to one server.

    Args:
        storage: One file for all servers.
        configured: `oauth` of the server: its `client_id` and `client_secret`, where these are given.
        redirect: The address that a browser returns to.
        hide: Has a value removed from everything that is shown.
    """

    def __init__(
        self,
        storage: JsonStorage,
        clock: Clock,
        url: str,
        configured: Mapping[str, Any],
        redirect: str,
        *,
        hide: Callable[[str], None],
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._url = url
        self._configured = configured
        self._redirect = redirect
        self._hide = hide

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens; one that has expired is without its access token, so that it is renewed."""
        kept = await self._kept()
        if "tokens" not in kept:
            return None
        tokens = self._hidden(OAuthToken.model_validate(kept["tokens"]))
        expired = tokens.expires_in is not None and kept["at"] + tokens.expires_in - RENEW_EARLY_S < self._clock.time()
        return tokens.model_copy(update={"access_token": ""}) if expired else tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens."""
        await self._keep(tokens=self._hidden(tokens).model_dump(mode="json", exclude_none=True), at=self._clock.time())

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the hub's client registration there."""
        if "client_id" in self._configured:
            secret = self._configured.get("client_secret")
            known = {"client_id": self._configured["client_id"], "redirect_uris": [self._redirect]}
            if secret:
                return OAuthClientInformationFull.model_validate(
                    {**known, "client_secret": secret.reveal(), "token_endpoint_auth_method": "client_secret_post"}
                )
            return OAuthClientInformationFull.model_validate({**known, "token_endpoint_auth_method": "none"})
        found = (await self._kept()).get("client")
        # A server leads nobody back to another address than the one that was registered there.
        if not found or self._redirect not in found["redirect_uris"]:
            return None
        return OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the hub's client registration."""
        await self._keep(client=client_info.model_dump(mode="json", exclude_none=True))

    def _hidden(self, tokens: OAuthToken) -> OAuthToken:
        for each in filter(None, (tokens.access_token, tokens.refresh_token)):
            self._hide(each)
        return tokens

    async def _kept(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self._storage.load({})).get(self._url, {})
        return found

    async def _keep(self, **new: Any) -> None:
        every = await self._storage.load({})
        every[self._url] = {**every.get(self._url, {}), **new}
        await self._storage.save(every)


def sign_in(
    url: str, scope: str | None, redirect: str, tokens: McpTokens, sign_ins: McpSignIns, show: Callable[[str], None]
) -> OAuthClientProvider:
    """Return the request signer of a server, which has a person sign in when necessary.

    Args:
        show: Shows a person the address to go to; an empty one when they are back.
    """
    waiting: list[asyncio.Future[dict[str, str]]] = []

    async def go(address: str) -> None:
        waiting[:] = [sign_ins.begin(address)]
        show(address)

    async def back() -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(SIGN_IN_S):
                found = await waiting[0]
        except TimeoutError as error:
            raise TimedOut(f"nobody signed in within {SIGN_IN_S / 60:g} minutes") from error
        finally:
            show("")
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))

    metadata = OAuthClientMetadata.model_validate(
        {
            "redirect_uris": [redirect],
            "client_name": CLIENT_NAME,
            "scope": scope,
            "token_endpoint_auth_method": "none",
        }
    )
    return OAuthClientProvider(url, metadata, tokens, go, back)
