"""Home: tools to look at the states of this home and to call its services.

Which services a model may call is said by each service itself; states and services are in `hub/core`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.home.tool import home_tools

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "home"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Bring the home tools."""
    for tool in home_tools(hub.states, hub.services):
        hub.integrations.owns(DOMAIN, hub.tools.register(tool))


async def unload(hub: Hub) -> None:
    """Nothing is held open; the tools are taken back by the hub."""
