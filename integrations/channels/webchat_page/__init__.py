"""Web chat page: a page of the hub's own on which guests of the LAN chat, alone or in a frame of another page.

Not here: the dashboard's chat (`integrations.channels.webchat`), whose callers the gateway has authenticated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.conversation import recent
from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Open every page."""
    from integrations.channels.public_files import PublicFiles
    from integrations.channels.webchat_page.channel import WebchatPage
    from integrations.channels.webchat_page.page import page_routes
    from integrations.channels.webchat_page.uploads import Uploads
    from integrations.channels.webchat_page.visitors import Visitors, signing_key

    files = PublicFiles(host.domain, host.storage("files"), host.clock)
    await files.load()
    host.routes.add(files.route())

    def limit_bytes() -> int:
        return int(host.config.or_default("messages")["media"]["file_mb"]) * 1_000_000

    key = await signing_key(host.storage("key"))
    for account in config:
        name = account["account"]
        visitors = Visitors(key, name)
        folder = host.home.storage / "integrations" / host.domain / "uploads" / name
        uploads = Uploads(folder, host.clock, limit_bytes)
        host.spawn(uploads.prune_hourly(), name=f"files of the visitors of {name}")
        channel = WebchatPage(
            name,
            visitors,
            lambda address: recent(host.database, address),
            host.clock,
            lambda: host.lan_url,
            files,
            uploads,
        )
        await host.channels.add(channel, access_policy(account), outbound=outbound_policy(account))
        for route in page_routes(channel, account, host.language):
            host.routes.add(route)
