"""Sandboxes made with bubblewrap: namespaces, a read-only system, and bounds on memory and processes.

Each program has its own namespaces; programs of one sandbox share its directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.sandbox.bubblewrap.engine import BubblewrapEngine

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the engine."""
    host.sandboxes.add(BubblewrapEngine(host.clock.time, host.egress))
