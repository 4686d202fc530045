"""Zalo: bots of Zalo's Bot Platform, polled or by a webhook of the hub.

Not here: official accounts (`integrations.channels.zalo_oa`), and personal ones, for which Zalo has no API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log in every bot, with one address for the pictures that are sent."""
    from integrations.channels.public_files import PublicFiles
    from integrations.channels.zalo.channel import ZaloAccount, ZaloChannel

    files = PublicFiles("zalo", host.storage("files"), host.clock)
    await files.load()
    host.routes.add(files.route())
    for entry in config:
        account = ZaloAccount(
            entry["account"],
            entry["token"],
            entry["api_root"],
            entry.get("public_url"),
            entry.get("webhook_secret"),
        )
        channel = ZaloChannel(account, files, host.clock)
        if (route := channel.route()) is not None:
            host.routes.add(route)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
