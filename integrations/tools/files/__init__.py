"""Files: tools to read, write, edit, patch, list and search the workspace, within the view that a session has of it.

What a session may see of the workspace is decided in `hub/agent`; who may use these tools at all, in `hub/tools`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.files.session_files import SessionFiles
from integrations.tools.files.tool import file_tools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    host.tools.add(*file_tools(SessionFiles(host.workspaces.view, host.workspaces.outside)))
