"""The weather of places from Open-Meteo: entities of the domain `weather`, with forecasts.

Not here: what an answer means (`answer.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Add the entities."""
    from integrations.devices.open_meteo.weather import Weather

    for each in host.platform_items("weather"):
        weather = Weather(host, each)
        host.spawn(weather.live(), name=f"weather of {each['name']}")
