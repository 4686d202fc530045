"""The offline model: works without key and network, from sentence files in English and Simplified Chinese.

It says what it can do and how to add a model when it does not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hub.models.vendors import OFFLINE_API

if TYPE_CHECKING:
    from hub.hub import Hub
    from hub.models.provider_config import ProviderConfig
    from integrations.models.offline.provider import OfflineProvider

DOMAIN = "offline"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Offer the model."""

    def now() -> datetime:
        zoned: datetime = hub.clock.now().astimezone(ZoneInfo(hub.time_zone))
        return zoned

    def make(name: str, _config: ProviderConfig) -> OfflineProvider:
        from integrations.models.offline.provider import OfflineProvider  # with its sentences: not for homes with a key

        return OfflineProvider(name, now)

    hub.integrations.owns(DOMAIN, hub.models.register_api(OFFLINE_API, make))


async def unload(hub: Hub) -> None:
    """What it registered is taken back by its owner."""
