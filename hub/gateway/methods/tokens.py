"""`token.create|list|revoke`: scoped tokens for programs and other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, positive_seconds
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.access.auth import Authenticator
from hub.security.tokens import Token, TokenStore

OWNER = "gateway"


class TokenMethods:
    """The methods about tokens.

    Args:
        tokens: The tokens.
        authenticator: Knows the credentials of a caller.
        wall_time: Seconds since the epoch.
    """

    def __init__(self, tokens: TokenStore, authenticator: Authenticator, wall_time: Callable[[], float]) -> None:
        self._tokens = tokens
        self._authenticator = authenticator
        self._wall_time = wall_time

    def methods(self) -> list[Method]:
        """Return the methods."""
        create = Schema(
            {
                Required("name"): All(str, Length(min=1, max=100)),
                Required("scopes"): All([str], Length(min=1, max=16)),
                Optional("expires"): AnyOf(None, positive_seconds),
            }
        )
        one = Schema({Required("id"): All(str, Length(min=1, max=64))})
        return [
            Method("token.create", self._create, OWNER, create, ADMIN),
            Method("token.list", self._list, OWNER, Schema({}), ADMIN),
            Method("token.revoke", self._revoke, OWNER, one, ADMIN, acts=True),
        ]

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        expires_s = self._within_own(call, params.get("expires"))
        token, secret = await self._tokens.create(
            params["name"],
            params["scopes"],
            expires_s,
            by=call.caller.authority,
            made_by=self._authenticator.links(call.caller),
        )
        return self._shown(token) | {"token": secret.reveal()}

    def _within_own(self, call: MethodCall, expires_s: float | None) -> float | None:
        """Return the lifetime of a token: one made with a token ends with it at the latest."""
        own = [each for each in self._tokens.list() if each.credential_id in call.caller.credentials]
        first_ms = min((each.expires_ms for each in own if each.expires_ms is not None), default=None)
        if first_ms is None:
            return expires_s
        left_s = max(1.0, (first_ms - self._wall_time() * 1000) / 1000)
        return left_s if expires_s is None else min(expires_s, left_s)

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"tokens": [self._shown(token) for token in self._tokens.list()]}

    async def _revoke(self, call: MethodCall) -> Mapping[str, Any]:
        return self._shown(await self._tokens.revoke(call.params["id"]))

    def _shown(self, token: Token) -> dict[str, Any]:
        return {
            "ended": not self._authenticator.all_valid({token.credential_id, *token.made_by}),
            "id": token.id,
            "name": token.name,
            "scopes": sorted(token.scopes),
            "generation": token.generation,
            "createdAtMs": token.created_ms,
            "lastUsedAtMs": token.last_used_ms,
            "expiresAtMs": token.expires_ms,
            "revokedAtMs": token.revoked_ms,
        }
