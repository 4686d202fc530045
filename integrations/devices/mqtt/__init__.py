"""MQTT: a bridge to the devices of a home, by the broker that the home has or by one of its own.

What messages say is words from outside: it taints, and it never becomes a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Connect to the broker and offer what is built on it."""
    from integrations.devices.mqtt.bridge import MqttBridge
    from integrations.devices.mqtt.brokers import broker_of, hub_id
    from integrations.devices.mqtt.methods import methods
    from integrations.devices.mqtt.services import register_services
    from integrations.devices.mqtt.taps import Taps

    hub = await hub_id(host)
    bridge = MqttBridge(host, await broker_of(host, config, hub))
    register_services(host, bridge)
    for method in methods(bridge, Taps(bridge, host.clock)):
        host.methods.add(method)
    bridge.begin()
    host.spawn(bridge.connection.run(), name="connect to the MQTT broker")
