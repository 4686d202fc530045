"""Feishu, and Lark as it is called outside of China: bots of apps of one's own, over a small client of our own.

That of the vendor takes 11 seconds and 166 MB to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy
from integrations.channels.feishu.schema import API_ROOTS

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each app, and a webhook for those that have an encrypt key."""
    from integrations.channels.feishu.channel import FeishuAccount, FeishuChannel
    from integrations.channels.feishu.webhook import FeishuWebhook

    for entry in config:
        account, key = entry["account"], entry.get("encrypt_key")
        root = str(entry.get("api_root") or API_ROOTS[entry["region"]])
        webhook = None if key is None else FeishuWebhook(account, key, host.clock)
        app = FeishuAccount(account, entry["app_id"], entry["app_secret"], root)
        channel = FeishuChannel(app, host.clock, webhook)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
        if webhook is not None:
            host.routes.add(webhook.route())
