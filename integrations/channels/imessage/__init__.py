"""iMessage: through a Mac that is signed in to Messages, with a BlueBubbles server or the node program on it.

Not here: the Mac itself, its Apple account, and the Private API, which are BlueBubbles's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each Mac, and the webhooks of those that are to deliver."""
    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from integrations.channels.imessage.channel import IMessageAccount, MacChannel, channel_for
    from integrations.channels.imessage.node_channel import NodeIMessageChannel

    for each in config:
        account = IMessageAccount.from_config(each)
        channel: MacChannel
        if account.node:
            channel = NodeIMessageChannel(account, host.clock, host.nodes.registry)
        else:
            channel = channel_for(account, host.clock)
        if (route := channel.route()) is not None:
            host.routes.add(route)
        await host.channels.add(channel, access_policy(each), outbound=outbound_policy(each))
