"""Web chat: the channel of the dashboard, the command line and the gateway's clients.

It needs no configuration and has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.channels.webchat.channel import WebChat

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register the channel."""
    await host.channels.add(WebChat(host.bus.fire), home=True)
