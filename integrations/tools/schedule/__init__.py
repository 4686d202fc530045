"""Schedule: the tool with which an agent sets reminders and does things later.

What is allowed is decided in `hub/automation/editing/schedule_editor.py`; automations are in `hub/automation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.schedule.tool import schedule_tool

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "schedule"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Bring the tool."""
    hub.integrations.owns(DOMAIN, hub.tools.register(schedule_tool(hub.automation.scheduled)))


async def unload(hub: Hub) -> None:
    """Nothing is held open; the tool is taken back by the hub."""
