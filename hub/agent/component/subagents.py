"""The component of subagents: resumes them after a stop, and archives old ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from hub.agent.component.agents import AgentsComponent
from hub.agent.exchanges.exchanges import Exchanges
from hub.agent.subagents.subagents import Subagents
from hub.automation.services.subagent_answers import SubagentAnswers
from hub.automation.services.subagent_threads import SubagentThreads
from hub.core.component import Component
from hub.core.stages import Stage
from hub.core.surfaces import Method, MethodGroups
from hub.foundation import Foundation
from hub.messaging.commands.registry import Commands
from hub.messaging.component.messaging import MessagingComponent
from hub.storage.database import Database

_log = logging.getLogger(__name__)


class SubagentsComponent(Component):
    """Background tasks of agents, and messages between conversations."""

    name = "subagents"

    def __init__(
        self, base: Foundation, *, db: Database, agents: AgentsComponent, messaging: MessagingComponent
    ) -> None:
        self._base, self._db, self._agents, self._messaging = base, db, agents, messaging
        answers = SubagentAnswers(
            messaging.agent_messages,
            messaging.outbox,
            messaging.router.may_reply,
            messaging.threads,
            agents.runner.parts.hooks,
        )
        self.subagents = Subagents(agents.runner, db, answers)
        messaging.router.narrow_with(self.subagents.policies_in)
        threads = SubagentThreads(self.subagents, messaging.threads, agents.runner.parts.sessions, base.language)
        messaging.commands.add(*threads.commands())
        messaging.inbox.add_interceptor(threads.interceptor())

        def subagent_commands(commands: Commands) -> None:
            from hub.agent.commands import add_subagent_command

            add_subagent_command(commands, self.subagents, agents.runner.parts.now_ms)

        messaging.commands.add_group("subagents", subagent_commands)
        self.exchanges = Exchanges(agents.runner, answers)

    @property
    def is_busy(self) -> bool:
        """Whether a subagent is at work, or waits for its own."""
        return len(self.subagents.at_work) > 0

    def stages(self) -> Sequence[Stage]:
        """Return the stage that reports what a stop or a crash interrupted."""
        return [Stage("subagents", self._start)]

    def methods(self) -> MethodGroups:
        """Return the methods that have an agent run, and those about subagents."""
        return {"subagents": self._load_methods}

    def _load_methods(self) -> Iterable[Method]:
        from hub.agent.methods.agent_runs import AgentMethods
        from hub.agent.methods.subagents import SubagentMethods
        from hub.voice.voice_wake import FILE, VoiceWake

        base, agents, messaging = self._base, self._agents, self._messaging
        runs = AgentMethods(
            agents=agents.agents,
            runner=agents.runner,
            outbox=messaging.outbox,
            addresses=messaging.addresses,
            db=self._db,
            clock=base.clock,
            tasks=base.tasks,
            voice_wake=VoiceWake(base.home.storage / FILE, base.home.documents),
        )
        subagents = SubagentMethods(self.subagents, agents.runner.parts.now_ms, base.redactor)
        return [*runs.methods(), *subagents.methods()]

    async def _start(self) -> None:
        if interrupted := await self.subagents.recover():
            _log.info("%d subagents were interrupted by the stop", interrupted)
        self._base.tasks.spawn(self.subagents.archive(), name="archive subagents")
