"""Zalo's official accounts, which Zalo delivers to a webhook of the hub for.

Not here: bots of the Bot Platform (`integrations.channels.zalo`).
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
    from integrations.channels.public_files import PublicFiles
    from integrations.channels.zalo_oa.channel import ZaloOaAccount, ZaloOaChannel

    files = PublicFiles("zalo_oa", host.storage("files"), host.clock)
    await files.load()
    host.routes.add(files.route())
    for entry in config:
        account = ZaloOaAccount(
            entry["account"],
            entry["app_id"],
            entry["app_secret"],
            entry["refresh_token"],
            entry["oa_secret"],
            entry["api_root"],
            entry["oauth_root"],
            entry.get("public_url"),
        )
        channel = ZaloOaChannel(account, host.storage(f"tokens-{account.account}"), files, host.clock)
        host.routes.add(channel.route())
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
