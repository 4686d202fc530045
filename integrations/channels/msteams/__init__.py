"""Microsoft Teams: a bot of your own in chats, group chats and channels, by Bot Framework activities.

Not here: what takes Microsoft Graph and an administrator's consent, such as files in channels and old messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel and a webhook for each bot."""
    from integrations.channels.msteams.channel import TeamsChannel
    from integrations.channels.msteams.connector import TeamsAccount

    for entry in config:
        keys = ("account", "app_id", "app_password", "tenant_id", "login_root", "openid_url", "service_root")
        channel = TeamsChannel(TeamsAccount(*(entry[key] for key in keys)), host.clock, lambda: host.language)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
        host.routes.add(channel.webhook.route())
