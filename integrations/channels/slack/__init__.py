"""Slack: Socket Mode and the Web API, over a small client of our own.

The one of slack-sdk handles each event in a task of its own, so that their order is lost, and tries a revoked token
for ever without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each app."""
    from integrations.channels.slack.channel import SlackChannel

    for account in config:
        tokens = account["bot_token"], account["app_token"]
        channel = SlackChannel(account["account"], *tokens, account["api_root"], host.clock)
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
