"""The component of the methods that change agents: they need parts above agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from hub.agent.component.agents import AgentsComponent
from hub.config.store import ReloadResult
from hub.core.component import Component
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.models.registry import ModelRegistry
from hub.tools.registry import ToolRegistry


class AgentEditingComponent(Component):
    """Adds, changes and removes agents in the configuration."""

    name = "agent editing"

    def __init__(
        self,
        base: Foundation,
        *,
        agents: AgentsComponent,
        models: ModelRegistry,
        tools: ToolRegistry,
        apply: Callable[[ReloadResult], Awaitable[None]],
    ) -> None:
        self._base, self._agents, self._models, self._tools, self._apply = base, agents, models, tools, apply

    def methods(self) -> MethodGroups:
        """Return `agents.get|create|update|delete`."""
        return {"agent editing": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.agent.methods.agent_editing import AgentEditMethods

        known = self._agents
        methods = AgentEditMethods(
            known.agents, known.workspaces, self._models, self._tools, self._base.config, self._apply
        )
        return methods.methods()
