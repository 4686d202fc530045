"""Wyoming: Home Assistant's Assist passes what it heard to an agent of this hub, and speaks the answer.

The protocol knows no credentials: who may connect is decided by address. What is said there is nobody's, or that of one
person of this home, and never an owner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Listen."""
    from integrations.devices.wyoming.server import WyomingServer

    server = await WyomingServer(host, config).start()
    host.on_unload(server.close)
