"""IRC: private conversations and channels on one or more networks.

It speaks the protocol itself; no package is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each account."""
    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from integrations.channels.irc.channel import IrcChannel
    from integrations.channels.irc.connection import IrcAccount

    for each in config:
        await host.channels.add(
            IrcChannel(IrcAccount.from_config(each), host.clock), access_policy(each), outbound=outbound_policy(each)
        )
