"""QQ: an official bot, over its gateway and a small client of our own.

The vendor's qq-botpy connects without looking at the server's certificate.
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
    from integrations.channels.qq.api import QQLogin
    from integrations.channels.qq.channel import QQChannel

    for account in config:
        login = QQLogin(account["app_id"], account["app_secret"], account["api_root"], account["token_url"])
        channel = QQChannel(account["account"], login, host.clock)
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
