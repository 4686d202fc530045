"""Notes: memory in Markdown files of each agent's workspace, searched by word, and the tools over it.

What a memory is, is said in `hub/memory`; whose memory a session sees, in `hub/sessions/privacy.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from hub.core.context import SYSTEM
from hub.memory.registry import MemoryRegistry
from hub.security.root import Root
from hub.sessions.keys import main_key
from hub.tools.registry import ToolRegistry
from integrations.memory.notes.memory import NotesMemory
from integrations.memory.notes.tool import TOOL_NAMES, MemoryTools


async def setup(hub: Any, config: Mapping[str, Any] | None) -> None:
    """Keep the hub's memory and bring the tools over it."""
    keeper: MemoryRegistry = hub.memory
    tools: ToolRegistry = hub.tools

    def workspace(agent_id: str) -> Root:
        # The whole workspace: whose files a session sees is decided by scope, for each search.
        return Root(hub.workspaces.view(agent_id, main_key(agent_id), SYSTEM).path)

    def zone() -> ZoneInfo:
        return ZoneInfo(hub.config.current.or_default("hub")["time_zone"])

    memory = NotesMemory(workspace, now=hub.clock.time, zone=zone)
    remove = keeper.register(memory)
    try:
        tools.register_all(MemoryTools(memory, lambda: hub.people, hub.clock.time).all())
    except BaseException:
        remove()
        raise


async def unload(hub: Any) -> None:
    """Take the tools and the memory away; the files stay."""
    hub.tools.unregister(TOOL_NAMES)
    hub.memory.unregister()
