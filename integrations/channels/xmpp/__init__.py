"""XMPP: private conversations and rooms of one or more accounts, on any server.

The library, slixmpp, is imported when an account is started.
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
    from integrations.channels.xmpp.channel import XmppChannel
    from integrations.channels.xmpp.connection import XmppAccount

    for each in config:
        channel = XmppChannel(XmppAccount.from_config(each), host.clock)
        await host.channels.add(channel, access_policy(each), outbound=outbound_policy(each))
