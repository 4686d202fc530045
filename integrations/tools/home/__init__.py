"""Home: tools to look at the states of this home, to call its services, and to look at the hub itself.

Which services a model may call is said by each service itself; states and services are in `hub/core`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.home.gateway import GatewayTool
from integrations.tools.home.tool import home_tools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    gateway = GatewayTool(host.services.registry, host.channels.registry, host.repairs, bus=host.bus, spawn=host.spawn)
    host.tools.add(*home_tools(host.states.machine, host.services.registry, host.entities.all), gateway.tool())
