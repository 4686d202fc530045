"""Kiosk: what it brings, each in the module named after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.host import IntegrationHost

from . import channel, command, entity, hook, memory, method, model, node, page, route, service, tool


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register it all; it is undone by itself at a reload and when the integration is unloaded."""
    await channel.add(host, config)
    command.add(host, config)
    entity.add(host, config)
    hook.add(host, config)
    await memory.add(host, config)
    method.add(host, config)
    model.add(host, config)
    await node.add(host, config)
    page.add(host, config)
    route.add(host, config)
    service.add(host, config)
    tool.add(host, config)
