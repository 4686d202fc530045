"""A Home Assistant: its entities, areas and services become ours, and commands are sent to it.

Its entities' texts are words from outside. Source: https://developers.home-assistant.io/docs/api/websocket
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.core.services import ServiceCall
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Connect, and stay connected."""
    from hub.core.services import AgentRule, ResponseMode
    from integrations.devices.home_assistant.bridge import HomeAssistantBridge
    from integrations.devices.home_assistant.schema import CALL

    bridge = HomeAssistantBridge(host, config)

    async def call(call: ServiceCall) -> Mapping[str, Any]:
        domain, _, name = call.data["action"].partition(".")
        return {"response": await bridge.call(domain, name, call.data["data"], call.data["target"])}

    host.services.register(
        "call",
        call,
        CALL,
        ResponseMode.OPTIONAL,
        AgentRule.ASK,
        description="Call a service of Home Assistant",
        open_world=True,
    )
    host.spawn(bridge.run(), name="connect to Home Assistant")
