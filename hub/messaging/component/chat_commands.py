"""The slash commands and their dependencies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.agent.component.agents import AgentsComponent
from hub.config.store import ReloadResult
from hub.foundation import Foundation
from hub.memory.registry import MemoryRegistry
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import Commands
from hub.models.registry import ModelRegistry
from hub.security.people import People
from hub.sessions.store import SessionStore
from hub.storage.history import HistoryStore
from hub.tools.approvals import Approvals


class CommandEngines(Struct, frozen=True):
    """The dependencies of commands beside conversations.

    Attributes:
        reload: Reloads and applies the configuration.
        restart: Ends this hub and begins a new one.
    """

    approvals: Approvals
    memory: MemoryRegistry
    history: HistoryStore
    reload: Callable[[], Awaitable[ReloadResult]]
    restart: Callable[[], None]


def chat_commands(
    base: Foundation,
    engines: CommandEngines,
    *,
    agents: AgentsComponent,
    sessions: SessionStore,
    models: ModelRegistry,
    channels: ChannelRegistry,
    people: Callable[[], People],
    threads: ThreadBindings,
) -> Commands:
    """Return the registry with the hub's own commands."""

    def session_commands(commands: Commands) -> None:
        from hub.sessions.commands import SessionCommandNeeds, add_session_commands

        needs = SessionCommandNeeds(
            sessions, agents.runner, models, agents.agents, people, base.home.path, lambda: channels.home
        )
        add_session_commands(commands, needs)

    def setting_commands(commands: Commands) -> None:
        from hub.models.commands import SettingCommandNeeds, add_setting_commands

        costs = engines.history.usage_by_day
        needs = SettingCommandNeeds(sessions, models, agents.agents, lambda days: costs(days, base.zone()))
        add_setting_commands(commands, needs)

    def approval_commands(commands: Commands) -> None:
        from hub.tools.commands import add_approval_commands

        add_approval_commands(commands, engines.approvals)

    def hub_commands(commands: Commands) -> None:
        from hub.messaging.commands.hub_commands import HubCommandNeeds, add_hub_commands

        add_hub_commands(
            commands,
            HubCommandNeeds(
                agents=agents.agents,
                sessions=sessions,
                runner=agents.runner,
                models=models,
                channels=channels,
                memory=engines.memory,
                config=base.config,
                repairs=base.repairs,
                reload=engines.reload,
                restart=engines.restart,
                zone=base.zone,
                threads=threads,
            ),
        )

    commands = Commands(base.language)
    commands.add_group("sessions", session_commands)
    commands.add_group("settings", setting_commands)
    commands.add_group("approvals", approval_commands)
    commands.add_group("hub", hub_commands)
    return commands
