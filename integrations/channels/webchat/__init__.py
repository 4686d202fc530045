"""Web chat: the channel of the dashboard, the command line and the gateway's clients.

It needs no configuration and has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.messaging.access import AccessPolicy
from integrations.channels.webchat.channel import WebChat

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "webchat"


async def setup(hub: Hub, config: Mapping[str, Any]) -> None:
    """Log in."""
    await hub.channels.add(WebChat(hub.bus), AccessPolicy())


async def unload(hub: Hub) -> None:
    """Log out."""
    await hub.channels.remove(DOMAIN)
