"""Discord: the gateway and the REST API, over a small client of our own.

discord.py has fixed addresses, and repeats what the server failed at by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each bot."""
    from integrations.channels.discord.channel import DiscordChannel

    for account in config:
        channel = DiscordChannel(
            account["account"],
            account["token"],
            account["api_root"],
            account["gateway_url"],
            host.clock,
            lines=account["max_lines_per_message"],
        )
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
