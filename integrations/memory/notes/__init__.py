"""Notes: memory in Markdown files of each agent's workspace, found by word and by meaning, and the tools over it.

What a memory is, is said in `hub/memory`; whose memory a session sees, in `hub/sessions/privacy.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "notes"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Keep the hub's memory, bring the tools over it, and keep its index up to date."""
    from integrations.memory.notes.house import stand

    stand(hub, DOMAIN)


async def unload(hub: Hub) -> None:
    """End the index's process; the files are left as they are, and the tools are taken back by the hub."""
    from integrations.memory.notes.memory import NotesMemory

    if isinstance(hub.memory.current, NotesMemory):
        await hub.memory.current.close()
