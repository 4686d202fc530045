"""Discord's gateway, version 10.

Source: https://discord.com/developers/docs/events/gateway
"""

from __future__ import annotations

import sys

from hub.core.secret import Secret
from integrations.channels.discord.intake import DiscordIntake
from integrations.channels.discord.rest import DiscordRest
from integrations.channels.gateway import Gateway, GatewayTerms
from integrations.channels.http_api import PlatformError
from integrations.channels.reconnecting import AccountRefused

# Servers, messages, reactions and polls in servers and direct messages, and the content of messages.
INTENTS = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 15 | 1 << 24 | 1 << 25
REFUSALS = {
    4004: "Discord refused the token. Make a new one: Developer Portal, your application, Bot, Reset Token.",
    4010: "Discord refused the shard of the connection.",
    4011: "The bot is in too many servers for one connection (Discord asks for sharding at 2 500).",
    4012: "Discord no longer speaks version 10 of its gateway; update the hub.",
    4013: "Discord refused the intents of the connection; update the hub.",
    4014: "Switch on Message Content Intent: Developer Portal, your application, Bot, Privileged Gateway Intents.",
}
TERMS = GatewayTerms(
    platform="Discord",
    identity={
        "intents": INTENTS,
        "properties": {"os": sys.platform, "browser": "homarus", "device": "homarus"},
    },
    refusals=REFUSALS,
    session_over=frozenset({1000, 1001, 4007, 4009}),
)


class DiscordGateway(Gateway):
    """Connects one bot.

    Args:
        url: The address to connect to; None asks the API, and resumes sessions where Discord says.
    """

    def __init__(self, rest: DiscordRest, token: Secret, url: str | None, intake: DiscordIntake) -> None:
        super().__init__(rest.session, TERMS, intake)
        self._rest = rest
        self._secret = token
        self._url = url

    async def _token(self) -> str:
        return self._secret.reveal()

    async def _address(self) -> str:
        return f"{await self._root()}?v=10&encoding=json"

    async def _root(self) -> str:
        if self._url is not None:
            return self._url
        if self.session is not None and self.session.url:
            return self.session.url
        try:
            return str((await self._rest.call("GET", "/gateway/bot"))["url"])
        except PlatformError as error:
            if error.status == 401:
                raise AccountRefused(REFUSALS[4004]) from error
            raise
