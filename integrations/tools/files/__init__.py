"""Files: tools to read, write, edit, list and search the workspace, within the view that a session has of it.

What a session may see of the workspace is decided in `hub/agent`; who may use these tools at all, in `hub/tools`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.files.tool import file_tools

if TYPE_CHECKING:
    from hub.hub import Hub

DOMAIN = "files"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Bring the file tools."""
    for tool in file_tools(hub.workspaces.view, hub.workspaces.outside):
        hub.integrations.owns(DOMAIN, hub.tools.register(tool))


async def unload(hub: Hub) -> None:
    """Nothing is held open; the tools are taken back by the hub."""
