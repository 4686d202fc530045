"""Phones in the browser: a page that pairs as a node and as an operator, and web push for when it is closed.

What nodes may do is decided in `hub/nodes`; the page speaks the gateway's protocol like every other node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.nodes.phone.schema import CONTACT

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Serve the pages, and send pushes."""
    from integrations.nodes.phone.page import phone_routes
    from integrations.nodes.phone.push import WebPush

    for route in phone_routes(host):
        host.routes.add(route)
    push = WebPush(host, (config or {}).get("contact", CONTACT))
    await push.open()
