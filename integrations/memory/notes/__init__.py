"""Notes: memory in Markdown files of each agent's workspace, searched by word, and the tools over it.

What a memory is, is said in `hub/memory`; whose memory a session sees, in `hub/sessions/privacy.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hub.core.context import SYSTEM
from hub.security.root import Root
from hub.sessions.keys import main_key
from integrations.memory.notes.memory import NotesMemory
from integrations.memory.notes.tool import MemoryTools

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "notes"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Keep the hub's memory and bring the tools over it."""

    def workspace(agent_id: str) -> Root:
        # The whole workspace: whose files a session sees is decided by scope, for each search.
        return Root(hub.workspaces.view(agent_id, main_key(agent_id), SYSTEM).path)

    memory = NotesMemory(
        workspace,
        history_of=lambda agent_id: hub.home.agent(agent_id) / "memory_history",
        now=hub.clock.time,
        zone=lambda: ZoneInfo(hub.time_zone),
    )
    hub.integrations.owns(DOMAIN, hub.memory.register(memory))
    for tool in MemoryTools(memory, lambda: hub.people, hub.clock.time).all():
        hub.integrations.owns(DOMAIN, hub.tools.register(tool))


async def unload(hub: Hub) -> None:
    """Leave the files as they are; the memory and its tools are taken back by the hub."""
