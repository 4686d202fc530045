"""The composition root: the components, their dependencies, and their order at start and stop.

Nothing below imports this file; integrations are given an `IntegrationHost`, the dashboard the `Hub`.
"""

from __future__ import annotations

from functools import partial

from hub import __version__
from hub.agent.component.agents import AgentsComponent
from hub.agent.component.editing import AgentEditingComponent
from hub.agent.component.subagents import SubagentsComponent
from hub.automation.component import AutomationComponent, AutomationComponentDependencies
from hub.backup.component import BackupComponent
from hub.config.component import ConfigWatchComponent
from hub.core.clock import Clock
from hub.doctor.component import AuditComponent
from hub.entities.component import EntitiesComponent
from hub.foundation import Share, read_home
from hub.gateway.component.access import AccessComponent, AccessDependencies
from hub.gateway.component.clients import ClientDependencies, ClientsComponent
from hub.gateway.component.gateway import GatewayComponent
from hub.gateway.log_tail import LogTail
from hub.gateway.pages import PageTable
from hub.hooks.component import HooksComponent
from hub.host import IntegrationHost
from hub.integration.component import IntegrationsComponent
from hub.lifecycle import Lifecycle
from hub.memory.component import MemoryComponent
from hub.messaging.channels import ChannelRegistry
from hub.messaging.component.channels import ChannelsComponent
from hub.messaging.component.chat import ChatComponent
from hub.messaging.component.chat_commands import CommandEngines
from hub.messaging.component.device_messages import DeviceMessages
from hub.messaging.component.messaging import MessagingComponent
from hub.messaging.component.pairing import PairingComponent
from hub.migrate.component import MigrateComponent
from hub.models.component.model_accounts import ModelAccountsComponent
from hub.models.component.models import ModelsComponent
from hub.nodes.component import NodesComponent
from hub.sandbox.component import SandboxesComponent
from hub.security.component import SecretsComponent, SecurityComponent
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.component import SessionMethodsComponent, SessionsComponent
from hub.skills.component import SkillsComponent
from hub.storage.component import StorageComponent
from hub.storage.homedir import Home
from hub.timeline.component import TimelineComponent
from hub.tools.component import ToolMethodsComponent, ToolsComponent
from hub.update.component import UpdateComponent
from hub.voice.component import RoomsComponent, VoiceComponent


class Hub(Lifecycle):
    """The running hub and its components.

    Args:
        home: The home directory.
        redactor: Removes secrets at every sink; those of the configuration are registered with it.
        host, port: Take precedence over the configuration's `http`.
        log, share: The latest log lines, and what the worker gives that carries the home beside others.
    """

    def __init__(
        self,
        home: Home,
        *,
        redactor: Redactor | None = None,
        host: str | None = None,
        port: int | None = None,
        clock: Clock | None = None,
        log: LogTail | None = None,
        share: Share | None = None,
    ) -> None:
        base = read_home(home, clock or Clock(), redactor or Redactor(), share)
        super().__init__(base, __version__)
        self.home, self.config, self.tasks = home, base.config, base.tasks
        self.clock, self.lease, self.share = base.clock, base.lease, base.share
        self.redactor, self.bus, self.states, self.repairs = base.redactor, base.bus, base.states, base.repairs
        self.channels = ChannelRegistry(self.bus, self.clock, self.repairs, self.lease)
        self._security = security = SecurityComponent(base, channels=self.channels)
        self.egress, people = security.egress, security.current_people
        gateway = GatewayComponent(base, people=people, host=host, port=port)
        self.gateway, self.opening, self.pages = gateway.gateway, gateway.opening, PageTable(gateway.gateway.routes)
        storage = StorageComponent(base, self._lose)
        self.db, self.history = storage.db, storage.history
        tools = ToolsComponent(base, db=self.db, broadcast=self.gateway.broadcast)
        self.approvals, self.services, self.tools = tools.approvals, tools.services, tools.tools
        self.agent_secrets = tools.secrets
        entities = EntitiesComponent(base, services=self.services, history=self.history)
        self.entities, self.targets = entities.entities, entities.targets
        hooks, models = HooksComponent(base, tools=self.tools), ModelsComponent(base, db=self.db, egress=self.egress)
        sessions = SessionsComponent(base, db=self.db)
        self.hooks, self.models, self.sessions = hooks.hooks, models.models, sessions.sessions
        self.transcript_search = sessions.search
        agents = AgentsComponent(
            base,
            storage=storage,
            people=people,
            sessions=self.sessions,
            models=self.models,
            tools=self.tools,
            hooks=self.hooks,
            in_chat_app=self.channels.serves,
        )
        self.agents, self.workspaces = agents.agents, agents.workspaces
        self.runner, self.lanes = agents.runner, agents.lanes
        nodes = NodesComponent(
            base,
            gateway=self.gateway,
            db=self.db,
            tools=self.tools,
            services=self.services,
            workspaces=self.workspaces,
            entities=self.entities,
            egress=self.egress,
        )
        self.nodes, self.phones_here = nodes.nodes, nodes.phones
        sandboxes = SandboxesComponent(base, agents=agents, tools=self.tools)
        self.sandboxes = sandboxes.sandboxes
        memory = MemoryComponent(base, db=self.db, agents=agents, services=self.services, people=people)
        self.memory, self.remembering = memory.memory, memory.remembering
        messaging = MessagingComponent(
            base,
            channels=self.channels,
            db=self.db,
            people=people,
            sessions=self.sessions,
            models=self.models,
            agents=agents,
            engines=CommandEngines(self.approvals, self.memory, self.history, self._reload, self._restart),
        )
        self.commands, self.inbox, self.outbox = messaging.commands, messaging.inbox, messaging.outbox
        self.agent_messages, self.pairings = messaging.agent_messages, messaging.pairings
        DeviceMessages(base, messaging, self.gateway, self.nodes)
        voice = VoiceComponent(base, messaging, agents, self.models, self.entities, people, self._reload)
        self.voice, self.satellites_here = voice, voice.satellites
        nodes.speak_in_rooms(voice.satellites)
        subagents = SubagentsComponent(base, db=self.db, agents=agents, messaging=messaging)
        self.subagents, self.exchanges = subagents.subagents, subagents.exchanges
        skills = SkillsComponent(
            base, agents=agents, tools=self.tools, commands=self.commands, router=messaging.router, egress=self.egress
        )
        self.skills = skills.skills
        integrations = IntegrationsComponent(
            base,
            egress=self.egress,
            make_host=partial(IntegrationHost, hub=self),
            apply=self.apply,
            renew_automations=self._renew,
        )
        self.integrations, self.integration_control = integrations.manager, integrations.control
        automation = AutomationComponent(
            base,
            AutomationComponentDependencies(
                gateway=self.gateway,
                security=security,
                storage=storage,
                tools=tools,
                models=self.models,
                memory=self.memory,
                sessions=self.sessions,
                agents=agents,
                channels=self.channels,
                messaging=messaging,
                entities=entities,
                phones=self.phones_here,
                reload=self._reload,
                restart=self._restart,
                stop=self._end,
            ),
        )
        self.automation = automation.engine
        timetable = automation.engine.parts.timetable
        rooms = RoomsComponent(base, voice, tools, entities, db=self.db, timetable=timetable, egress=self.egress)
        self.inbox.add_interceptor(messaging.spoken.interceptor())
        session_methods = SessionMethodsComponent(
            self.gateway, search=sessions.search, runner=self.runner, channels=self.channels, subagents=self.subagents
        )
        tool_methods = ToolMethodsComponent(
            base, tools, self.runner, outbox=self.outbox, addresses=messaging.addresses, subagents=self.subagents
        )
        timeline = TimelineComponent(
            base, storage, self.sessions, self.runner, self.automation, people=people, broadcast=self.gateway.broadcast
        )
        backup = BackupComponent(base, security, self.gateway, timetable, services=self.services, restart=self._restart)
        update = UpdateComponent(base, timetable, self.runner, backup=backup.make_backup, restart=self._restart)
        clients = ClientsComponent(
            ClientDependencies(
                base=base,
                gateway=self.gateway,
                db=self.db,
                sessions=self.sessions,
                models=self.models,
                approvals=self.approvals,
                agents=agents,
                nodes=self.nodes,
                memory=memory,
                messaging=messaging,
                subagents=self.subagents,
                turns=lambda: voice.turns,
                judge=voice.judge,
            )
        )
        access = AccessComponent(
            base, AccessDependencies(gateway, self.db, clients, self.integrations, self.tools, self._running, log)
        )
        self.login_link = access.login_link

        self.components = (
            *(security, gateway, storage, access),
            SecretsComponent(base, models=self.models),
            tools,
            entities,
            hooks,
            sessions,
            agents,
            AgentEditingComponent(base, agents=agents, models=self.models, tools=self.tools, apply=self.apply),
            *(sandboxes, nodes, voice),
            PairingComponent(messaging.pairings, messaging.router, self.channels, base.config, self._reload),
            integrations,
            models,
            ModelAccountsComponent(base, models=models, budgets=agents.budgets, history=self.history, apply=self.apply),
            memory,
            clients,
            session_methods,
            ChatComponent(self.gateway, sessions=session_methods, inbox=self.inbox, channels=self.channels),
            tool_methods,
            messaging,
            subagents,
            ChannelsComponent(base, self.channels, messaging.owner_places, self.integrations, self.apply),
            *(automation, rooms, skills),
            timeline.offering(self.tools, self.entities),
            backup,
            update,
            AuditComponent(base, self.gateway, access, timetable, egress=self.egress, apply=self.apply),
            MigrateComponent(base, registry=entities.registry, sessions=self.sessions, reload=self._reload),
            ConfigWatchComponent(base, apply=self.apply, before=integrations.control.find_new),
        )

    @property
    def people(self) -> People:
        """The people of this home, as configured now."""
        return self._security.people

    async def _renew(self, kinds: frozenset[str]) -> None:
        await self.automation.renew(kinds)
