"""Message: the tool with which an agent sends, edits, deletes, reacts and asks in polls.

Sending itself is in `hub/messaging/outbox/outbox.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.message.tool import message_tool

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool."""
    host.tools.add(message_tool(host.messages))
