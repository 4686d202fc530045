"""Matrix: direct chats and rooms of one or more accounts, over any homeserver.

The library, matrix-nio, is imported when an account is started.
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
    from integrations.channels.matrix.channel import MatrixChannel
    from integrations.channels.matrix.login import MatrixAccount

    keys = host.home.storage / "integrations" / host.domain
    for each in config:
        account = MatrixAccount.from_config(each)
        channel = MatrixChannel(account, host.storage(f"login-{account.name}"), keys, host.clock)
        await host.channels.add(channel, access_policy(each), outbound=outbound_policy(each))
