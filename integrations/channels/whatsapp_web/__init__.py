"""WhatsApp with a number of one's own: the hub is a linked device of it, through an unofficial client.

The client, neonize, is imported in a thread when an account is started. Not here: the Cloud API, which is `whatsapp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each account."""
    from hub.messaging.outbox.outbound_policy import outbound_policy
    from hub.messaging.schema import access_policy
    from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
    from integrations.channels.whatsapp_web.neonize_client import NeonizeClient

    folder = host.home.storage / "integrations" / host.domain
    for each in config:
        session = folder / f"session-{each['account']}.db"
        channel = WhatsAppWebChannel(
            each["account"], partial(NeonizeClient.open, session), host.clock, read_receipts=each["read_receipts"]
        )
        await host.channels.add(channel, access_policy(each), outbound=outbound_policy(each))
