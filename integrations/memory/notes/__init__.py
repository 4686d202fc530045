"""Notes: memory in Markdown files of each agent's workspace, found by word and by meaning, and the tools over it.

Memories are defined in `hub/memory`; whose memory a session sees, in `hub/sessions/privacy.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the memory and its tools, and keep its index up to date."""
    from integrations.memory.notes.assembly import build

    build(host)
