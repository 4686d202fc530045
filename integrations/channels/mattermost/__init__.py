"""Mattermost: bots of any server, over its WebSocket and its API, with a small client of our own.

Not here: slash commands, which each need a token that an administrator registers; `!new` is taken for `/new`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each bot, and the address that its buttons call."""
    from integrations.channels.mattermost.channel import MattermostAccount, MattermostChannel

    for entry in config:
        callback = entry.get("callback_url")
        account = MattermostAccount(entry["account"], str(entry["url"]), entry["token"], callback and str(callback))
        channel = MattermostChannel(account, host.clock)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
        if callback:
            host.routes.add(channel.route())
