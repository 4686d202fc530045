"""Home: tools to read the states of this home, to call its services, and to inspect the hub itself.

Each service itself decides whether a model may call it; states and services are in `hub/core`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from integrations.tools.home.gateway import GatewayTool
from integrations.tools.home.tool import home_tools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    gateway = GatewayTool(host.services.registry, host.channels.registry, host.repairs, bus=host.bus, spawn=host.spawn)

    def now() -> datetime:
        return datetime.fromtimestamp(host.clock.time(), host.time_zone)

    tools = home_tools(
        host.states.machine, host.services.registry, host.entities.all, host.workspaces.keep_from_outside, now
    )
    host.tools.add(*tools, gateway.tool())
