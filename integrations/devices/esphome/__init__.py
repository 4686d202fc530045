"""ESPHome devices over their native API: their entities, and those that listen and speak as satellites.

Source: https://developers.esphome.io/architecture/api/
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]] | None) -> None:
    """Follow each device."""
    if not config:
        return
    device = await asyncio.to_thread(import_module, "integrations.devices.esphome.device")
    devices = device.EsphomeDevices(host)
    for each in config:
        host.spawn(devices.follow(each), name=f"follow {each['host']}")
