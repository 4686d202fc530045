"""Home: tools to look at the states of this home and to call its services.

Which services a model may call is said by each service itself; states and services are in `hub/core`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.home.tool import home_tools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    host.tools.add(*home_tools(host.states.machine, host.services.registry))
