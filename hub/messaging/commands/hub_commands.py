"""The commands about the hub: /agents, /sessions, /memory, /config, /restart, /debug, and the planned ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from hub import __version__
from hub.agent.agents import Agents
from hub.agent.runner import AgentRunner
from hub.config import edit
from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import InvalidRequest
from hub.core.repairs import Repairs
from hub.memory.own_scope import own_scope
from hub.memory.registry import MemoryRegistry
from hub.messaging.access.thread_bindings import ThreadBindings
from hub.messaging.channels import ChannelRegistry
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandPlace, CommandReply, Commands
from hub.messaging.texts import say
from hub.models.registry import ModelRegistry
from hub.sessions.store import SessionStore

LISTED = 15
HITS = 5
HIT_CHARS = 300
CONFIG_KEYS = ("hub.name", "hub.language", "hub.time_zone", "models.default", "session.dm_scope")
"""What `/config` reads and writes; who may do what is changed elsewhere."""


class HubCommandNeeds(Struct, frozen=True):
    """The dependencies of the commands about the hub.

    Attributes:
        reload: Reloads and applies the configuration.
        restart: Ends this hub and begins a new one; returns at once.
        zone: The time zone of the home.
    """

    agents: Agents
    sessions: SessionStore
    runner: AgentRunner
    models: ModelRegistry
    channels: ChannelRegistry
    memory: MemoryRegistry
    config: ConfigStore
    repairs: Repairs
    reload: Callable[[], Awaitable[ReloadResult]]
    restart: Callable[[], None]
    zone: Callable[[], tzinfo]
    threads: ThreadBindings


class HubCommands:
    """Carries out the commands about the hub.

    Args:
        language: The language of the home.
    """

    def __init__(self, needs: HubCommandNeeds, language: Callable[[], str]) -> None:
        self._needs = needs
        self._language = language

    def commands(self) -> tuple[ChatCommand, ...]:
        """Return the commands."""
        tools, management, here = Category.TOOLS, Category.MANAGEMENT, CommandPlace.DIRECT
        config = ("get", "set")
        memory = ("status", "search")
        return (
            ChatCommand("agents", self._agents, Category.STATUS, people_only=True),
            ChatCommand("sessions", self._sessions, Category.STATUS, people_only=True, where=here),
            ChatCommand(
                "memory",
                self._memory,
                tools,
                people_only=True,
                where=here,
                choices=memory,
                arguments="[status|search WORDS]",
            ),
            ChatCommand(
                "config",
                self._config,
                management,
                owner_only=True,
                where=here,
                choices=config,
                arguments="[get KEY|set KEY VALUE]",
            ),
            ChatCommand("restart", self._restart, management, owner_only=True, where=here),
            ChatCommand("debug", self._debug, management, owner_only=True, where=here),
        )

    async def _agents(self, call: CommandCall) -> str:
        lines = [say("agents.title", self._language())]
        for agent in self._needs.agents.all():
            here = say("agents.here", self._language()) if agent.id == call.agent_id else ""
            lines.append(f"- {agent.id}: {agent.title}, {self._needs.models.describe(agent.model)['ref'] or '-'}{here}")
        bound = [
            f"- {each.thread.channel} {each.thread.thread or each.thread.peer}: {each.thread.label}, {each.session.key}"
            for each in self._needs.threads.all()
            if call.by_owner or each.hears(call.context.authority)
        ]
        return "\n".join([*lines, say("agents.threads", self._language()), *bound] if bound else lines)

    async def _sessions(self, call: CommandCall) -> str:
        authority = call.context.authority
        listed = (each for each in self._needs.sessions.list() if not each.archived)
        mine = [each for each in listed if authority.owner or each.person == authority.person]
        if not mine:
            return say("sessions.none", self._language())
        lines = [say("sessions.title", self._language(), count=len(mine))]
        for session in mine[:LISTED]:
            when = datetime.fromtimestamp(session.updated_ms / 1_000, self._needs.zone())
            lines.append(f"- {when:%Y-%m-%d %H:%M} {session.name or session.key}")
        return "\n".join(lines)

    async def _memory(self, call: CommandCall) -> str | CommandReply:
        memory, language, scope = self._needs.memory.require(), self._language(), own_scope(call.context.authority)
        if call.word == "search":
            if not call.rest:
                return say("memory.what", language)
            answer = await memory.search(call.rest, agent_id=call.agent_id, scope=scope, limit=HITS)
            hits = [f"- {hit.path}:{hit.start_line} {' '.join(hit.text.split())[:HIT_CHARS]}" for hit in answer.hits]
            return (
                "\n".join([say("memory.hits", language, count=len(hits)), *hits])
                if hits
                else say("memory.none", language)
            )
        files = await memory.notebook.files(agent_id=call.agent_id, scope=scope)
        return say("memory.status", language, agent=call.agent_id, files=len(files))

    async def _config(self, call: CommandCall) -> str | CommandReply:
        language = self._language()
        key, _, value = call.rest.partition(" ")
        if not key:
            keys = [f"- {each}: {_shown(self._read(each))}" for each in CONFIG_KEYS]
            menu = tuple((each, f"/config get {each}") for each in CONFIG_KEYS)
            return CommandReply("\n".join([say("config.keys", language), *keys]), menu)
        if key not in CONFIG_KEYS:
            raise InvalidRequest(say("config.unknown", language, name=key, keys=", ".join(CONFIG_KEYS)))
        if call.word == "get":
            return f"{key}: {_shown(self._read(key))}"
        if not value.strip():
            return say("config.value", language, name=key)
        wanted = edit.parse_value(value.strip())
        await asyncio.to_thread(self._needs.config.editor.set_value, tuple(key.split(".")), wanted)
        await self._needs.reload()
        return say("config.done", self._language(), name=key, value=_shown(self._read(key)))

    def _read(self, key: str) -> object:
        section, _, name = key.partition(".")
        return self._needs.config.current.or_default(section)[name]

    async def _restart(self, call: CommandCall) -> str:
        # The answer is on disk before the hub stops: it is sent now, or by the hub that comes next.
        asyncio.get_running_loop().call_later(1.0, self._needs.restart)
        return say("restart.done", self._language())

    async def _debug(self, call: CommandCall) -> str:
        needs, language = self._needs, self._language()
        channels = [
            f"- {each.channel.name} ({each.channel.account}): {each.status.state}" for each in needs.channels.all()
        ]
        repairs = [f"- {repair.title}" for repair in needs.repairs.all()[:LISTED]]
        runs = [f"- {run.session_key}: {run.state}, {run.model or '-'}" for run in needs.runner.active()[:LISTED]]
        titles = [say(f"debug.{name}", language) for name in ("channels", "repairs", "runs")]
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"Homarus {__version__}, {now}, {call.session_key}"]
        for title, found in zip(titles, (channels, repairs, runs), strict=True):
            lines += [title, *(found or ["- -"])]
        return "\n".join(lines)


def add_hub_commands(commands: Commands, needs: HubCommandNeeds) -> None:
    """Add the commands about the hub."""
    commands.add(*HubCommands(needs, commands.language).commands())


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
