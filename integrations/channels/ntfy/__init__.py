"""ntfy: topics of any ntfy server, on which people and the assistant write to each other.

Not here: notices alone, for which the service `notify.apprise` is enough.
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
    from integrations.channels.ntfy.channel import NtfyAccount, NtfyChannel

    for entry in config:
        account = NtfyAccount(
            entry["account"],
            str(entry["url"]),
            entry["topics"],
            entry.get("token"),
            entry.get("user"),
            entry.get("password"),
            entry.get("button_token"),
        )
        channel = NtfyChannel(account, host.clock)
        if phones := entry["notify"]:
            from integrations.channels.ntfy.notices import NtfyNotices

            NtfyNotices(host, account, phones)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
