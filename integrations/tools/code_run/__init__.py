"""`code_run`: Python in a sandbox, for sums, tables and texts.

Never in the hub, whoever asks: so it needs no approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.code_run.tool import code_run_tool

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tool."""
    host.tools.add(code_run_tool(host.sandboxes.open, host.agents))
