"""A slash command: what a message that begins with `/kiosk` does instead of going to a model.

`owner_only=True` is for one that takes an owner; `choices` are offered as buttons.

The contract: `hub/messaging/commands/registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.host import IntegrationHost
from hub.messaging.commands.registry import ChatCommand, CommandCall


def add(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Answer `/kiosk`."""

    async def greet(call: CommandCall) -> str:
        return f"Kiosk says hello to {call.arguments or 'you'}."

    host.commands.add(
        ChatCommand("kiosk", greet, arguments="[NAME]", help={"en": "Greet someone.", "zh-CN": "打招呼。"})
    )
