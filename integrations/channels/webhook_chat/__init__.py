"""Webhook: programs talk to the assistant over signed HTTP requests, and are answered the same way.

Not here: webhooks that set off automations (`hub/gateway/trigger.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log the accounts in, each with its own address."""
    from integrations.channels.webhook_chat.channel import WebhookChannel

    for account in config:
        channel = WebhookChannel(account["account"], account["secret"], str(account["url"]), host.clock)
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
        host.routes.add(channel.route())
