"""iMessage: through a BlueBubbles server, a program on a Mac that is signed in to Messages.

Not here: the Mac itself, its Apple account, and the Private API, which are BlueBubbles's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each server, and the webhooks of those that are to deliver."""
    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from integrations.channels.imessage.channel import IMessageAccount, channel_for

    for each in config:
        channel = channel_for(IMessageAccount.from_config(each), host.clock)
        if (route := channel.route()) is not None:
            host.routes.add(route)
        await host.channels.add(channel, access_policy(each), outbound=outbound_policy(each))
