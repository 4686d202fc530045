"""Sessions: tools that show a session's model, usage and time, the other sessions, and the agents.

Sessions themselves are in `hub/sessions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.sessions.reading import SessionReaders
from integrations.tools.sessions.tool import SessionTools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    tools = SessionTools(host.sessions, host.agents, host.models.registry, host.clock, lambda: host.time_zone)
    readers = SessionReaders(host.sessions, host.agents, host.clock)
    host.tools.add(*tools.all(), *readers.all())
