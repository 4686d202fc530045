"""LINE: official accounts, which LINE delivers to a webhook of the hub for.

Not here: who may talk to them (`hub.messaging`), and personal accounts, for which LINE has no API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel and its webhook for each account, and one address for the files that are sent."""
    from integrations.channels.line.channel import LineAccount, LineChannel
    from integrations.channels.public_files import PublicFiles

    files = PublicFiles("line", host.storage("files"), host.clock)
    await files.load()
    host.routes.add(files.route())
    for entry in config:
        account = LineAccount(
            entry["account"],
            entry["access_token"],
            entry["channel_secret"],
            entry["api_root"],
            entry["data_root"],
            entry.get("public_url"),
        )
        channel = LineChannel(account, files, host.clock)
        host.routes.add(channel.route())
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
