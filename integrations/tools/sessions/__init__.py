"""Sessions: a tool that tells how a session stands: model, usage, time.

Sessions themselves are in `hub/sessions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from integrations.tools.sessions.tool import SessionTools

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "sessions"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Bring the session tools."""
    tools = SessionTools(hub.sessions, hub.agents, hub.models, hub.clock, lambda: ZoneInfo(hub.time_zone))
    for tool in tools.all():
        hub.integrations.owns(DOMAIN, hub.tools.register(tool))


async def unload(hub: Hub) -> None:
    """Nothing is held open; the tools are taken back by the hub."""
