"""Files: tools to read, write, edit, patch, list and search the workspace, within the view that a session has of it.

A session's view of the workspace is decided in `hub/agent`; who may use these tools at all, in `hub/tools`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.executors import FILES
from hub.sessions.store import EVENT_SESSION_CHANGED
from integrations.tools.files.session_files import SessionFiles
from integrations.tools.files.tool import file_tools
from integrations.tools.files.undo_command import undo_command
from integrations.tools.files.undoing import UndoStore

if TYPE_CHECKING:
    from hub.core.events import Event
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools, and the command that undoes their changes."""
    workspaces = host.workspaces
    undo = UndoStore(host.home.storage / "integrations" / host.domain / "undo")
    host.tools.add(*file_tools(SessionFiles(workspaces.view, workspaces.outside, undo, host.egress.reader)))
    host.commands.add(undo_command(undo, workspaces.view, lambda: host.language))

    async def forget(event: Event) -> None:
        await FILES.run(undo.forget, event.data["key"])

    host.bus.listen(EVENT_SESSION_CHANGED, forget, {"what": "deleted"})
