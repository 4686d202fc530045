"""Webhook node: programs on phones register, then report places and sensors, over Home Assistant's mobile_app wire.

Each acts with the rights of the credential that registered it and no longer than that; its words count as from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Serve the registrations, and the way to register."""
    from integrations.nodes.mobile_app.registrations import MobileApps

    apps = MobileApps(host)
    await apps.open(relays=bool((config or {}).get("relay")))
