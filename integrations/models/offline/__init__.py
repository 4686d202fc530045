"""The offline model: works without key and network, from sentence files in English and Simplified Chinese.

It lists its abilities and how to add a model when it does not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hub.models.vendors import OFFLINE_API

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.provider_config import ProviderConfig
    from integrations.models.offline.provider import OfflineProvider


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the API `offline`."""

    def now() -> datetime:
        return host.clock.now().astimezone(host.time_zone)

    def make(name: str, _config: ProviderConfig) -> OfflineProvider:
        from integrations.models.offline.provider import OfflineProvider

        return OfflineProvider(name, now)

    host.models.add(OFFLINE_API, make)
