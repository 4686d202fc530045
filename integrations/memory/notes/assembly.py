"""Puts the parts of the notes together: files, index worker, upkeep and tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.config.checked import Config
from hub.core.context import SYSTEM
from hub.core.events import Event, Unsubscribe
from hub.core.tasks import TaskOwner
from hub.memory.contract import EVENT_CHANGED
from hub.memory.places import CURATED, FOLDER
from hub.memory.scope import MemoryScope
from hub.models.provider_config import ProviderConfig, read_providers
from hub.security.root import Root
from hub.sessions.keys import main_key
from hub.sessions.store import EVENT_SESSION_CHANGED
from integrations.memory.memory_tools import MemoryTools
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.client.jobs import Jobs
from integrations.memory.notes.client.sources import JobSources, cache_directory
from integrations.memory.notes.client.upkeep import Upkeep
from integrations.memory.notes.files.omissions import Omissions
from integrations.memory.notes.forget.conversations import Conversations
from integrations.memory.notes.job import Job
from integrations.memory.notes.memory import NotesMemory
from integrations.memory.said_now import SaidNow

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.memory.todo_lists import MemoryLists

SECTIONS = frozenset({"memory", "agents", "models", "people"})
"""What an index depends on."""


def build(host: IntegrationHost) -> None:
    """Build the memory and register it with its tools."""
    tasks = TaskOwner("memory")

    def section(name: str) -> Any:
        return host.config.or_default(name)

    def providers() -> dict[str, ProviderConfig]:
        return read_providers(section("models"), os.environ)

    def workspace(agent_id: str) -> Root:
        # The whole workspace: whose files a session sees is decided by scope, for each search.
        return Root(host.workspaces.folder(agent_id, main_key(agent_id), SYSTEM))

    ground = JobSources(
        host.home,
        host.agents,
        host.sessions,
        lambda: host.people,
        lambda: settings_in_force(host.config),
        providers,
        os.environ,
        Omissions(host.home),
        lambda domain: section(domain) or {},
    )

    jobs = Jobs(ground, lambda: host.config)
    worker = _index_worker(host, tasks)
    memory = NotesMemory(
        workspace,
        jobs,
        worker,
        history_of=lambda agent_id: host.home.agent(agent_id) / "memory_history",
        now=host.clock.time,
        zone=lambda: host.time_zone,
        changed=lambda agent_id: host.bus.fire(EVENT_CHANGED, {"agent": agent_id}),
        tasks=tasks,
    )
    upkeep = Upkeep(
        lambda: [agent.id for agent in host.agents.all()],
        jobs,
        lambda agent_id: memory.sync(agent_id=agent_id),
        _has_anything,
        host.clock,
        repairs=host.repairs,
        tasks=tasks,
    )
    memory.set_transcripts(Conversations(ground, host.database))
    memory.set_observer(upkeep)

    following: list[Unsubscribe] = []

    def follow_conversations() -> None:
        """Hear of conversations where they are searched."""
        while following:
            following.pop()()
        if section("memory")["transcripts"]:
            following.append(host.bus.listen("run_finished", said))
            following.append(host.bus.listen(EVENT_SESSION_CHANGED, jobs.session_changed))

    def settings_changed(event: Event) -> None:
        follow_conversations()
        memory_section = section("memory")
        if {*SECTIONS, memory_section["vectors"], memory_section["keywords"]} & set(event.data["changed"]):
            upkeep.reconfigure()

    def engine_changed(event: Event) -> None:
        memory_section = section("memory")
        if event.data["domain"] in (memory_section["vectors"], memory_section["keywords"]):
            upkeep.reconfigure()

    def said(event: Event) -> None:
        upkeep.look_later(event.data["agent_id"])

    host.on_unload(memory.close)
    host.memory.add(memory, lambda agent_id, texts: worker.embed(jobs(agent_id), texts))
    host.bus.listen("config_changed", settings_changed)
    host.bus.listen("integration_changed", engine_changed)
    follow_conversations()
    tasks.spawn(_begin(upkeep, host), name="begin to index memory")
    host.spawn(_show_lists(memory, host), name="show the lists of memory")
    tools = MemoryTools(
        memory,
        lambda: host.people,
        host.clock.time,
        SaidNow(host.sessions),
        citations=lambda: str(section("memory")["citations"]),
    )
    host.tools.add(*tools.all())


def _index_worker(host: IntegrationHost, tasks: TaskOwner) -> IndexWorker:
    """Return the process that keeps the indexes: one of this home's own, or that of all homes of a worker."""
    if host.share is None or host.home.in_worker is None:
        return IndexWorker(cache_directory(host.home), host.clock, tasks)
    from integrations.memory.notes.client.home_index import HomeIndex

    return HomeIndex(host.share, host.home.in_worker.name, host.clock, tasks)


def settings_in_force(config: Config) -> Mapping[str, Any]:
    """Return the section `memory`; while it is broken, the defaults, without sending anything to an embedding provider.

    The broken section may have forbidden sending, so a configured key does not allow it.
    """
    settings: Mapping[str, Any] = config.or_default("memory")
    if "memory" not in config.broken:
        return settings
    return {**settings, "embeddings": {**settings["embeddings"], "provider": "local"}}


async def _begin(upkeep: Upkeep, host: IntegrationHost) -> None:
    """Index once the hub has started, so that it does not start later for it."""
    await host.started()
    upkeep.start()


async def _show_lists(memory: NotesMemory, host: IntegrationHost) -> None:
    """Show the lists of memory as entities once the hub has started."""
    await host.started()
    made: list[MemoryLists] = []

    def changed(_: Event | None = None) -> None:
        if not made:
            made.append(_lists(memory, host))
        made[0].changed()

    host.bus.listen(EVENT_CHANGED, changed)
    host.bus.listen("config_changed", changed)
    owner = MemoryScope(None, private=True, shared=True)
    if memory.is_empty(agent_id=host.agents.default().id, scope=owner) is not True:
        changed()


def _lists(memory: NotesMemory, host: IntegrationHost) -> MemoryLists:
    """Make them once there is anything in memory."""
    from integrations.memory.todo_lists import MemoryLists

    return MemoryLists(
        memory,
        lambda: host.agents.default().id,
        lambda: host.people,
        host.entities.all,
        add=host.entities.add,
        spawn=host.spawn,
        clock=host.clock,
        zone=lambda: host.time_zone,
    )


def _has_anything(job: Job) -> bool:
    """Whether an agent has anything to index, or an index that may hold deleted content."""
    workspace = Path(job.sources[0].root)
    folder = workspace / FOLDER
    return (
        len(job.sources) > 1
        or (workspace / CURATED).exists()
        or (folder.is_dir() and any(folder.iterdir()))
        or Path(job.directory).exists()
    )
