"""DingTalk: the robot of an app of one's own, in Stream mode, over a small client of our own.

That of the vendor acknowledges before anything is stored, and waits for its requests in the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each app."""
    from integrations.channels.dingtalk.cards import DingTalkCardChannel
    from integrations.channels.dingtalk.channel import DingTalkAccount, DingTalkChannel

    for entry in config:
        client, roots = entry["client_id"], (str(entry["api_root"]), str(entry["oapi_root"]))
        robot = entry.get("robot_code") or client
        app = DingTalkAccount(entry["account"], client, entry["client_secret"], robot, roots)
        template = entry.get("card_template")
        channel = DingTalkCardChannel(app, host.clock, template) if template else DingTalkChannel(app, host.clock)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
