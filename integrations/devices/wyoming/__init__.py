"""Wyoming: Home Assistant's Assist passes what it heard to an agent of this hub, and speaks the answer.

The protocol knows no credentials: who may connect is decided by address. What is said there is nobody's, or that of one
person of this home, and never an owner's. Services of the protocol that hear and speak are providers of models here;
satellites are connected to,
and services that find wake words listen to any satellite that sends all it hears.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Offer the API for providers, and listen if the section is there."""

    def make(name: str, provider: ProviderConfig) -> ModelProvider:
        from integrations.devices.wyoming.provider import WyomingProvider  # not before somebody speaks

        return WyomingProvider(name, provider)

    host.models.add("wyoming", make, lists_speech=True)
    if "wyoming" not in host.config.present:
        return
    if "listen" in config:
        from integrations.devices.wyoming.server import WyomingServer

        host.satellites.open()
        server = await WyomingServer(host, config).start()
        host.on_unload(server.close)
    for each in config["satellites"]:
        from integrations.devices.wyoming.satellite import WyomingSatellite

        satellite = WyomingSatellite(host, each, host.satellites.add)
        host.spawn(satellite.follow(), name=f"follow {each['url']}")
    for url in config["wake"]:
        from integrations.devices.wyoming.wake import WyomingWake

        host.satellites.add_wake_engine(WyomingWake(url, host.clock, host.spawn))
