"""WeCom (企业微信): an AI bot over its long connection, by a small client of our own.

The vendor's client acknowledges nothing, and hides which request was answered and which was lost.
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
    from integrations.channels.wecom.channel import WeComChannel

    for account in config:
        login = account["account"], account["bot_id"], account["secret"], account["ws_url"]
        await host.channels.add(
            WeComChannel(*login, host.clock), access_policy(account), outbound=outbound_policy(account)
        )
