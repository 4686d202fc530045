"""The component of agents: their workspaces, and the runner that answers with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hub.agent.agents import Agents
from hub.agent.budgets.ledger import BudgetLedger
from hub.agent.conversation.window_size import WindowCheck
from hub.agent.parts import RunDependencies
from hub.agent.runner import AgentRunner
from hub.agent.subagents.settings import LANE
from hub.agent.tools.find_tools import tools_to_find
from hub.agent.tools.hub_docs import hub_docs_tools
from hub.agent.tools.image import image_tool
from hub.agent.workspace.boot import BootRuns
from hub.agent.workspace.workspace import Workspaces
from hub.core.component import Component
from hub.core.errors import HubError
from hub.core.lanes import MAIN, Lanes
from hub.core.phrases import phrase
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.core.tasks import TaskOwner
from hub.foundation import Foundation
from hub.hooks.registry import Hooks
from hub.models.registry import ModelRegistry
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.component import StorageComponent
from hub.tools.kept_results import KeptResults, read_result_tool
from hub.tools.registry import ToolRegistry


class AgentsComponent(Component):
    """Agents, workspaces, lanes and runs; `tasks` owns the runs."""

    name = "agents"
    sections = frozenset({"agents", "budgets"})
    follows = frozenset({"messages"})

    def __init__(
        self,
        base: Foundation,
        *,
        storage: StorageComponent,
        people: Callable[[], People],
        sessions: SessionStore,
        models: ModelRegistry,
        tools: ToolRegistry,
        hooks: Hooks,
        in_chat_app: Callable[[str], bool],
    ) -> None:
        self._base = base
        self.agents = Agents(base.section("agents"), base.home)
        self.lanes = Lanes(self._limits(), None if base.share is None else base.share.lanes)
        self.workspaces = Workspaces(
            self.agents, people, base.home, base.clock, base.zone, base.twelve_hours, base.bus.fire
        )
        self.tasks = TaskOwner("runs")
        self._storage, self._people, self._sessions = storage, people, sessions
        self._models, self._tools = models, tools
        self._kept = KeptResults(base.home.storage / "results")
        self.budgets = BudgetLedger(base.clock, base.zone, storage.db)
        self.budgets.configure(base.section("budgets"))
        parts = RunDependencies(
            sessions=sessions,
            agents=self.agents,
            workspaces=self.workspaces,
            models=models,
            tools=tools,
            bus=base.bus,
            clock=base.clock,
            history=storage.history,
            redactor=base.redactor,
            tasks=self.tasks,
            windows=WindowCheck(base.repairs),
            kept_results=self._kept,
            budgets=self.budgets,
            hooks=hooks,
            in_chat_app=in_chat_app,
        )
        self.runner = AgentRunner(parts, storage.db, self.lanes)
        self._boot = BootRuns(self.runner, people)

    def stages(self) -> Sequence[Stage]:
        """Return the stages that prepare the workspaces and load the spending so far."""
        return [Stage("workspaces", self._open), Stage("budgets", self.budgets.load)]

    def methods(self) -> MethodGroups:
        """Return the methods about agents, their files, models and context, and their runs."""
        return {"agents": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.agent.methods.agent_files import AgentFileMethods
        from hub.agent.methods.catalog import CatalogMethods
        from hub.agent.methods.context import ContextMethods
        from hub.agent.methods.runs import RunMethods

        runs = RunMethods(
            db=self._storage.db,
            history=self._storage.history,
            sessions=self._sessions,
            runner=self.runner,
            people=self._people,
            redactor=self._base.redactor,
        )
        return [
            *CatalogMethods(self.agents, self._models).methods(),
            *AgentFileMethods(self.agents, self.workspaces).methods(),
            *ContextMethods(self.agents, self.runner).methods(),
            *runs.methods(),
        ]

    async def apply(self, changed: frozenset[str]) -> None:
        """Apply changed agents, and the number of runs that may go on at once."""
        if "agents" in changed:
            self.agents.configure(self._base.section("agents"))
            await self._ensure_workspaces()
        if "budgets" in changed:
            self.budgets.configure(self._base.section("budgets"))
        if changed & {"agents", "messages"}:
            self.lanes.set_limits(self._limits())

    def _limits(self) -> dict[str, int]:
        subagents = {f"{LANE}:{each.id}": each.subagents.max_concurrent for each in self.agents.all()}
        return {MAIN: self._base.section("messages")["parallel_runs"], **subagents}

    async def _open(self) -> None:
        image = image_tool(self.runner.parts, lambda: self._base.config.current.or_default("tools").get("image_model"))
        for tool in (
            *(read_result_tool(self._kept), image),
            *(*tools_to_find(self._tools, self.agents), *hub_docs_tools()),
        ):
            self._tools.register(tool)
        self._base.bus.listen("hub_started", lambda _: self._run_boot_files())
        await self._ensure_workspaces()

    def _run_boot_files(self) -> None:
        self.tasks.spawn(self._boot.run(), name="run BOOT.md")

    async def _ensure_workspaces(self) -> None:
        for agent in self.agents.all():
            try:
                self.workspaces.ensure(agent.id)
                self._base.repairs.clear("agents", agent.id)
            except HubError as error:
                title = phrase("The workspace of the agent {agent} cannot be used", agent=agent.id)
                self._base.repairs.raise_("agents", agent.id, title, error.message)
