"""Sandboxes that are containers of Docker: read-only, without privileges or network, kept while they are used.

The package `docker` is imported with the first sandbox, in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.sandbox.docker.engine import DockerEngine
from integrations.sandbox.docker.schema import SOCKET

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the engine; nothing of Docker is imported or called before the first sandbox."""
    socket, left = (config or {}).get("socket", SOCKET), host.home.storage / "integrations" / host.domain / "containers"
    engine = DockerEngine(socket, host.sandboxes.registry.places.mark, host.egress, left)
    host.sandboxes.add(engine)
    if engine.has_left:
        host.spawn(engine.clear_left(), name="remove the containers of a hub that was killed")
