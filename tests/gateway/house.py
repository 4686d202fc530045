"""A gateway with everything it serves: real agents, sessions, tools and messaging over a scripted model server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

from hub.agent.agents import Agents
from hub.agent.methods.agent_files import AgentFileMethods
from hub.agent.methods.agent_runs import AgentMethods
from hub.agent.methods.catalog import CatalogMethods
from hub.agent.methods.context import ContextMethods
from hub.agent.methods.runs import RunMethods
from hub.agent.methods.subagents import SubagentMethods
from hub.agent.parts import RunDependencies
from hub.agent.runner import AgentRunner
from hub.agent.subagents.subagents import Subagents
from hub.agent.workspace.workspace import Workspaces
from hub.automation.assembly import AutomationDependencies, AutomationEngine
from hub.automation.component import automation_methods
from hub.automation.definition.kinds import OUR_KINDS
from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_messages import AgentMessages
from hub.automation.services.subagent_answers import SubagentAnswers
from hub.config.methods import ConfigMethods
from hub.config.store import ConfigStore, ReloadResult
from hub.core.component import Component
from hub.core.lanes import Lanes
from hub.core.secret import Secret
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.component.clients import ClientDependencies, ClientsComponent
from hub.gateway.http_api.rpc import rpc_routes
from hub.gateway.http_api.sign_in import SignIn
from hub.gateway.http_api.webhooks import webhook_routes
from hub.gateway.log_tail import LogTail
from hub.gateway.methods.devices import DeviceMethods
from hub.gateway.methods.hub_state import HubState
from hub.gateway.methods.tokens import TokenMethods
from hub.gateway.push.approval_events import ApprovalEvents
from hub.gateway.push.automation_events import AutomationEvents
from hub.gateway.push.events import HubEvents
from hub.memory.methods.memory import MemoryMethods
from hub.memory.methods.memory_api import MemoryApi
from hub.memory.methods.memory_files import MemoryFileMethods
from hub.memory.registry import MemoryRegistry
from hub.messaging.access.access import AccessPolicy
from hub.messaging.access.decide import MediaSettings, MessagingSettings
from hub.messaging.access.router import Router
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.command_buttons import CommandButtons
from hub.messaging.commands.registry import Commands
from hub.messaging.component.chat import ChatComponent
from hub.messaging.cursors import Cursors
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.inbox.media_store import MediaStore
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.queue.queue import MessageQueue
from hub.models.commands import SettingCommandNeeds, add_setting_commands
from hub.models.registry import ModelRegistry
from hub.models.vendors import OPENAI_API
from hub.sections import all_sections
from hub.security.egress import Egress
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.commands import SessionCommandNeeds, add_session_commands
from hub.sessions.component import SessionMethodsComponent
from hub.sessions.search import TranscriptSearch
from hub.sessions.store import SessionStore
from hub.storage.history import HistoryStore
from hub.tools.agent_secrets import AgentSecrets
from hub.tools.approvals import Approvals
from hub.tools.component import ToolMethodsComponent
from hub.tools.methods.approvals import ApprovalMethods
from hub.tools.methods.exec_requests import ExecRequestMethods
from hub.tools.methods.questions import QuestionMethods
from hub.tools.registry import ToolRegistry
from integrations.channels.webchat.channel import WebChat
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.gateway.rig import Rig
from tests.servers.openai_server import OpenAIServer

CONFIGURATION = """\
hub:
  name: Test
automation: !include automations.yaml
script:
  greet:
    alias: Greet
    fields: {who: {description: Whom, required: true}}
    sequence:
      - variables: {words: "Hello {{ who }}"}
      - stop: done
        response_variable: greeting
        enabled: false
"""
AUTOMATIONS = """\
# What happens by itself.
- id: bell
  alias: Bell  # the one at the front door
  triggers:
    - trigger: event
      event_type: bell_pressed
  actions:
    # told to whoever listens
    - event: bell_heard
      event_data: {door: "{{ trigger.event.data.door | default('front') }}"}
- id: never
  alias: Never
  triggers:
    - trigger: event
      event_type: bell_pressed
  conditions: "{{ false }}"
  actions:
    - event: never_heard
- id: hook
  alias: Hook
  triggers:
    - trigger: webhook
      webhook_id: front-door
    - trigger: webhook
      webhook_id: from-afar
      local_only: false
      secret: a-secret-of-many-letters
  actions:
    - event: hook_called
      event_data: {json: "{{ trigger.json }}", data: "{{ trigger.data }}", query: "{{ trigger.query }}"}
"""
"""What a home of these tests says."""
AGENTS: list[dict[str, Any]] = [{"id": "main", "default": True}, {"id": "kitchen"}]


class FullRig(Rig):
    """A gateway with all it serves."""

    def __init__(self, path: Path, server: OpenAIServer, settings: HttpSettings | None = None) -> None:
        super().__init__(path, settings)
        self.home.create()
        self.redactor = Redactor()
        self.history = HistoryStore(self.home.history_db)
        self.config = ConfigStore(self.home, all_sections(), self.bus, self.repairs)
        (self.home.path / "configuration.yaml").write_text(CONFIGURATION)
        (self.home.path / "automations.yaml").write_text(AUTOMATIONS)
        self.config.load()
        people = People()
        self.models_section: dict[str, Any] = {
            "default": "test/model",
            "providers": {"test": {"api": "openai", "base_url": server.base_url, "api_key": "sk-test-not-a-secret"}},
        }
        self.models = ModelRegistry(self.models_section, self.bus, self.clock, self.repairs)
        self.models.register_api(OPENAI_API, lambda name, config: OpenAIProvider(name, config, self.clock))
        self.sessions = SessionStore(self.db, self.home, self.clock, self.bus)
        self.agents = Agents(AGENTS, self.home)
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)
        self.tools = ToolRegistry(self.bus, ask=self.approvals.ask)
        self.lanes = Lanes()
        self.workspaces = Workspaces(self.agents, lambda: people, self.home, self.clock, lambda: UTC)
        parts = RunDependencies(
            sessions=self.sessions,
            agents=self.agents,
            workspaces=self.workspaces,
            models=self.models,
            tools=self.tools,
            bus=self.bus,
            clock=self.clock,
            history=self.history,
            redactor=self.redactor,
            tasks=self.tasks,
        )
        self.runner = AgentRunner(parts, self.db, self.lanes)
        self.channels = ChannelRegistry(self.bus, self.clock, self.repairs)
        commands = Commands(lambda: "en")
        needs = SessionCommandNeeds(
            self.sessions, self.runner, self.models, self.agents, lambda: people, self.home.path, lambda: "webchat"
        )
        add_session_commands(commands, needs)
        add_setting_commands(commands, SettingCommandNeeds(self.sessions, self.models, self.agents))
        self.outbox = Outbox(self.db, self.channels, self.bus, self.clock, self.tasks, repairs=self.repairs)
        buttons = CommandButtons(Secret("key of buttons"), self.channels)
        router = Router(
            self.channels, self.agents, lambda: people, MessagingSettings(), models=self.models, buttons=buttons
        )
        media = MediaStore(self.channels, self.workspaces, self.clock, MediaSettings, lambda: None)
        queue = self.queue = MessageQueue(
            self.db, router, self.runner, self.outbox, media, clock=self.clock, tasks=self.tasks
        )
        self.inbox = Inbox(
            self.db, router, queue, commands, self.outbox, buttons=buttons, bus=self.bus, clock=self.clock
        )
        self.channels.connect(self.inbox.receive, Cursors(self.db), router.admits)
        self.log = LogTail(self.redactor)
        self.services = ServiceRegistry(self.bus)
        self.memory = MemoryRegistry()
        self.automation = AutomationEngine(
            AutomationDependencies(
                home=self.home,
                bus=self.bus,
                states=StateMachine(self.bus),
                services=self.services,
                clock=self.clock,
                repairs=self.repairs,
                lanes=self.lanes,
                db=self.db,
                history=self.history,
                config=self.config,
                redactor=self.redactor,
                models=self.models,
                tools=self.tools,
                memory=self.memory,
                sessions=self.sessions,
                agents=self.agents,
                workspaces=self.workspaces,
                runner=self.runner,
                channels=self.channels,
                outbox=self.outbox,
                approvals=self.approvals,
                egress=Egress(frozenset),
                people=lambda: people,
                kinds=OUR_KINDS,
                zone=lambda: UTC,
                language=lambda: "en",
                reload=self.reload,
                restart=lambda: None,
                stop=lambda: None,
            )
        )

    async def reload(self) -> ReloadResult:
        """Put the files into force as they are now."""
        result = await self.config.reload()
        await self.automation.apply(result.changed)
        return result

    async def attach(self) -> None:
        await self.db.open()
        await self.history.open()
        for part in (
            self.tokens,
            self.web_sessions,
            self.codes,
            self.devices,
            self.approvals,
            self.sessions,
            self.outbox,
        ):
            await part.open()
        await self.models.start()
        await self.channels.add(WebChat(self.bus.fire), AccessPolicy(), home=True)
        await self.automation.open()
        await self.queue.recover()
        self.gateway.attach(self.tokens, self.web_sessions, self.devices, self.idempotency)
        memory = MemoryApi(self.memory, self.agents, self.clock, self.redactor)
        addresses = Addresses(self.db, People, self.channels)
        messages = AgentMessages(self.db, self.outbox, addresses, self.workspaces)
        answers = SubagentAnswers(messages, self.outbox, lambda address, key: True)
        self.subagents = Subagents(self.runner, self.db, answers)
        clients = ClientsComponent(
            ClientDependencies(
                gateway=self.gateway,
                db=self.db,
                tasks=self.tasks,
                agents=self.agents,
                sessions=self.sessions,
                models=self.models,
                runner=self.runner,
                outbox=self.outbox,
                redactor=self.redactor,
                subagents=self.subagents,
                embed=lambda: self.memory.embed,
            )
        )
        sessions = SessionMethodsComponent(
            self.gateway,
            search=TranscriptSearch(self.home, self.sessions, self.clock),
            runner=self.runner,
            channels=self.channels,
            subagents=self.subagents,
        )
        chat = ChatComponent(self.gateway, sessions=sessions, inbox=self.inbox, channels=self.channels)
        tools = ToolMethodsComponent(
            AgentSecrets(self.home.storage, self.redactor, self.clock),
            self.approvals,
            runner=self.runner,
            outbox=self.outbox,
            addresses=addresses,
            subagents=self.subagents,
            tasks=self.tasks,
        )
        agents = AgentMethods(
            sessions=self.sessions,
            agents=self.agents,
            runner=self.runner,
            outbox=self.outbox,
            addresses=addresses,
            db=self.db,
            clock=self.clock,
            tasks=self.tasks,
        )
        runs = RunMethods(
            db=self.db,
            history=self.history,
            sessions=self.sessions,
            runner=self.runner,
            people=People,
            redactor=self.redactor,
        )
        components: list[Component] = [clients, sessions, chat, tools]
        for stage in chat.stages():
            if stage.start is not None:
                await stage.start()
        gateway, redactor = self.gateway, self.redactor
        state = HubState(gateway, self.repairs, self.codes, self.log, clients.facts(list))
        methods = [
            *(method for component in components for load in component.methods().values() for method in load()),
            *CatalogMethods(self.agents, self.models).methods(),
            *AgentFileMethods(self.agents, self.workspaces).methods(),
            *agents.methods(),
            *ContextMethods(self.agents, self.runner).methods(),
            *runs.methods(),
            *SubagentMethods(self.subagents, self.runner.parts.now_ms, redactor).methods(),
            *state.methods(),
            *ConfigMethods(self.config, redactor).methods(),
            *TokenMethods(self.tokens, gateway.authenticator, self.clock.time).methods(),
            *DeviceMethods(self.devices, gateway.authenticator).methods(),
            *automation_methods(self.automation, self.agents, self.config, redactor, gateway.presence.beacon),
            *ApprovalMethods(self.approvals).methods(),
            *ExecRequestMethods(self.approvals, self.bus, self.tasks).methods(),
            *QuestionMethods(self.approvals).methods(),
            *MemoryMethods(memory).methods(),
            *MemoryFileMethods(memory).methods(),
        ]
        routes = [
            *(route for component in components for route in component.routes()),
            *rpc_routes(gateway.dispatcher),
            *SignIn(gateway.ingress, gateway.authenticator, self.codes, self.web_sessions).routes(),
            *webhook_routes(gateway.ingress, self.automation.webhooks),
        ]
        for method in methods:
            gateway.methods.add(method)
        for route in routes:
            gateway.routes.add(route)
        gateway.broadcast.redact = redactor.redact_data
        gateway.welcomer.attach(state.health, state.facts.session_defaults, {"authMode": gateway.settings.mode.value})
        HubEvents(self.bus, gateway.broadcast, self.clock, state.health)
        ApprovalEvents(self.bus, gateway.broadcast, self.clock, self.approvals)
        AutomationEvents(self.bus, gateway.broadcast, self.clock)

    async def close(self) -> None:
        await self.gateway.stop()
        await self.automation.close()
        await self.outbox.close()
        await self.models.close()
        await self.tasks.cancel_all()
        await self.approvals.close()
        await self.sessions.close()
        await self.history.close()
        await self.db.close()


@asynccontextmanager
async def living(path: Path, server: OpenAIServer, settings: HttpSettings | None = None) -> AsyncIterator[FullRig]:
    rig = FullRig(path, server, settings or HttpSettings(port=0))
    await rig.gateway.start()
    try:
        await rig.attach()
        rig.gateway.open()
        yield rig
    finally:
        await rig.close()
