"""Schedule: the tool with which an agent sets reminders and does things later.

The rules are in `hub/automation/editing/schedule_editor.py`; automations are in `hub/automation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.reminders.tool import schedule_tool

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool."""
    host.tools.add(schedule_tool(host.scheduled))
