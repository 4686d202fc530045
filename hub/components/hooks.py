"""The hooks: their registry, and what calls those that observe the bus."""

from __future__ import annotations

from collections.abc import Sequence

from hub.components.component import Component
from hub.components.foundation import Foundation
from hub.core.stages import Stage
from hub.core.tasks import TaskOwner
from hub.hooks.from_bus import observe_bus
from hub.hooks.registry import Hooks
from hub.hooks.tool_calls import ToolCallHooks
from hub.tools.registry import ToolRegistry

STOP_LIMIT_S = 2.0
"""How long the stop waits for handlers that observe."""


class HooksComponent(Component):
    """The hooks of integrations and of the home."""

    name = "hooks"

    def __init__(self, base: Foundation, *, tools: ToolRegistry) -> None:
        self.hooks = Hooks(TaskOwner("hooks"))
        tools.around = ToolCallHooks(self.hooks)
        observe_bus(base.bus, self.hooks)

    def stages(self) -> Sequence[Stage]:
        """Return the stage that ends what observes."""
        return [Stage("hooks", None, self._stop, stop_limit_s=STOP_LIMIT_S + 1.5)]

    async def _stop(self) -> None:
        await self.hooks.drain(STOP_LIMIT_S)
