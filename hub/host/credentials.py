"""The hub's tokens for integrations that speak other hubs' protocols: checked, stood for, and ended by who has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from hub.core.errors import Unauthorized
from hub.core.phrases import phrase
from hub.core.surfaces import Caller, HttpCall
from hub.gateway.access.guarded_socket import Socket
from hub.gateway.connection.server import Gateway


class HostCredentials:
    """Checks secrets with the gateway's own rules and limits."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @contextmanager
    def counted(self, call: HttpCall, kind: str = "") -> Iterator[Callable[[], None]]:
        """Count an attempt of a client, unless the function that is handed out is called: it was good.

        Raises:
            LimitExceeded: Too many failures.
        """
        client, authenticator = self._gateway.ingress.client_of(call.request), self._gateway.authenticator
        authenticator.reserve(client, kind)
        yield lambda: authenticator.succeed(client, kind)

    async def check(self, call: HttpCall, secret: str) -> Caller:
        """Return whoever holds a token, and close this connection when that ends.

        Raises:
            Unauthorized: It is not valid.
            LimitExceeded: Too many failures, or too many connections.
        """
        client, authenticator = self._gateway.ingress.client_of(call.request), self._gateway.authenticator
        if not authenticator.is_local_hub_token(client, secret):
            authenticator.reserve(client)
        caller = await authenticator.check_secret(secret, client)
        cast(Socket, call.request.protocol).trust(caller.credentials)
        return caller

    async def brief(self, call: HttpCall, token: str, life_s: float) -> str:
        """Return a secret that stands for a token for some seconds, and ends with it.

        Raises:
            Unauthorized: The token is not valid, or is such a secret itself.
        """
        return self._gateway.tokens.brief(await self._own(call, token), life_s).reveal()

    async def end(self, call: HttpCall, token: str) -> None:
        """Revoke a token, on behalf of whoever has it.

        Raises:
            Unauthorized: It is not valid.
        """
        await self._gateway.tokens.revoke(await self._own(call, token))

    async def _own(self, call: HttpCall, token: str) -> str:
        tokens = self._gateway.tokens
        caller = await self.check(call, token) if token.startswith(tokens.PREFIX) else None
        if caller is None:
            raise Unauthorized(phrase("this is no token of this hub"))
        return caller.credential_id.partition(":")[2]
