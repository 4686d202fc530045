"""Signal: through the JSON-RPC daemon of signal-cli, a program beside the hub.

Not here: the account, its keys and the encryption, which signal-cli holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each account."""
    from integrations.channels.signal.channel import SignalChannel

    for account in config:
        channel = SignalChannel(account["account"], account["url"], account["number"], host.clock)
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
