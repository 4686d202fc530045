"""Google Chat: an app of your own in a Workspace, as a service account; by HTTP endpoint or Cloud Pub/Sub.

Not here: what takes a person's own consent, such as reactions and files that are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each app, and a webhook for each that has an HTTP endpoint."""
    from integrations.channels.google_chat.api import GoogleChatAccount
    from integrations.channels.google_chat.channel import GoogleChatChannel

    for entry in config:
        keys = {key: entry[key] for key in GoogleChatAccount.__struct_fields__ if key in entry}
        channel = GoogleChatChannel(GoogleChatAccount(**keys), host.clock, lambda: host.language)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
        if channel.webhook is not None:
            host.routes.add(channel.webhook.route())
