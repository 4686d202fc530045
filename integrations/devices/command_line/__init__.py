"""Entities whose state is what a command writes, and that run commands: the section `command_line:` of Home Assistant.

Commands run by the rules of the tool `exec` (`integrations/tools/shell`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, _config: Sequence[Any]) -> None:
    """Make the entities, and begin to run the commands of those that are read."""
    from integrations.devices.command_line.making import make

    make(host)
