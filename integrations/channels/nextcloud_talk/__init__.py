"""Nextcloud Talk: accounts of a Nextcloud, each read and written as a user with an app password.

Not here: Talk's bots. Only an administrator installs one, on the server itself; no one-to-one conversation takes one,
and it is told of nothing that happens while the hub is away.
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
    from integrations.channels.nextcloud_talk.channel import TalkAccount, TalkChannel

    for entry in config:
        account = TalkAccount(entry["account"], str(entry["url"]), entry["user"], entry["app_password"])
        channel = TalkChannel(account, host.clock)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
