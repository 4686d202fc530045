"""Letter vectors: an embedding model, which the process of the memory's index opens by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Register it all; it is undone by itself at a reload and when the integration is unloaded."""
