"""Tools, services, and the approvals that both may need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hub.agent.runner import AgentRunner
from hub.agent.subagents.subagents import Subagents
from hub.automation.services.addresses import Addresses
from hub.core.component import Component
from hub.core.services import ServiceRegistry
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups, RouteGroups
from hub.foundation import Foundation
from hub.gateway.push.approval_events import ApprovalEvents
from hub.gateway.push.broadcast import Broadcast
from hub.messaging.outbox.outbox import Outbox
from hub.storage.database import Database
from hub.tools.agent_secrets import AgentSecrets
from hub.tools.approval_questions import ask_about_services
from hub.tools.approvals import Approvals
from hub.tools.registry import ToolRegistry
from hub.tools.rules_in_force import rules_in_force

if TYPE_CHECKING:
    from hub.tools.methods.tools import ToolMethods


class ToolsComponent(Component):
    """The registries of tools and services, and the approvals."""

    name = "tools"
    sections = frozenset({"tools", "exec"})

    def __init__(self, base: Foundation, *, db: Database, broadcast: Broadcast) -> None:
        self._base = base
        self._broadcast = broadcast
        self.approvals = Approvals(db, base.bus, base.clock, base.redactor)
        self.services = ServiceRegistry(base.bus, ask_about_services(self.approvals.ask))
        self.tools = ToolRegistry(base.bus, rules_in_force(base.config.current, base.repairs), self.approvals.ask)
        self.tools.lease = base.lease
        self.secrets = AgentSecrets(base.home.storage, base.redactor, base.clock, base.home.documents)
        self.tools.secrets = self.secrets.for_call

    @property
    def is_busy(self) -> bool:
        """Whether somebody is asked something."""
        return len(self.approvals.waiting) > 0

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the secrets and the approvals."""
        return [Stage("secrets of agents", self.secrets.open), Stage("approvals", self._open, self.approvals.close)]

    async def apply(self, changed: frozenset[str]) -> None:
        """Apply the changed tool rules."""
        self.tools.configure(rules_in_force(self._base.config.current, self._base.repairs))

    def methods(self) -> MethodGroups:
        """Return the methods about approvals and questions."""
        return {"approvals": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.tools.methods.approvals import ApprovalMethods
        from hub.tools.methods.exec_requests import ExecRequestMethods
        from hub.tools.methods.questions import QuestionMethods

        requests = ExecRequestMethods(self.approvals, self._base.bus, self._base.tasks)
        groups = (ApprovalMethods(self.approvals), requests, QuestionMethods(self.approvals))
        return [method for group in groups for method in group.methods()]

    async def _open(self) -> None:
        await self.approvals.open()
        ApprovalEvents(self._base.bus, self._broadcast, self._base.clock, self.approvals)


class ToolMethodsComponent(Component):
    """The methods about tools and the secrets of agents, and the route to use a tool: they know of conversations."""

    name = "tool methods"

    def __init__(
        self,
        base: Foundation,
        tools: ToolsComponent,
        runner: AgentRunner,
        *,
        outbox: Outbox,
        addresses: Addresses,
        subagents: Subagents,
    ) -> None:
        self._secrets, self._approvals = tools.secrets, tools.approvals
        self._parts, self._outbox, self._addresses = runner.parts, outbox, addresses
        self._subagents, self._tasks = subagents, base.tasks

    def methods(self) -> MethodGroups:
        """Return the methods about tools and secrets."""
        return {"tools": self._load_methods}

    def routes(self) -> RouteGroups:
        """Return the route to use a tool."""
        return {"tools": lambda: [self._tool_methods().route()]}

    def _load_methods(self) -> Iterable[Method]:
        from hub.tools.methods.secrets import SecretMethods

        secrets = SecretMethods(self._secrets, self._approvals, self._parts.agents)
        return [*self._tool_methods().methods(), *secrets.methods()]

    def _tool_methods(self) -> ToolMethods:
        from hub.tools.methods.tools import ToolMethodDependencies, ToolMethods

        parts = self._parts
        needs = ToolMethodDependencies(
            agents=parts.agents,
            sessions=parts.sessions,
            models=parts.models,
            tools=parts.tools,
            channels=self._outbox.channels,
            addresses=self._addresses,
            redactor=parts.redactor,
            tasks=self._tasks,
            policies_of_subagent=self._subagents.policies_in,
        )
        return ToolMethods(needs)
