"""MQTT: a bridge to the devices of a home, over the home's broker or an embedded one.

The messages are words from outside: they taint, and never become commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Connect to the broker and offer what is built on it."""
    from integrations.devices.mqtt.birth import follow_birth
    from integrations.devices.mqtt.bridge import MqttBridge
    from integrations.devices.mqtt.brokers import broker_of, hub_id
    from integrations.devices.mqtt.discovery.announcer_rights import AnnouncerRights
    from integrations.devices.mqtt.discovery.discovery import Discovery
    from integrations.devices.mqtt.hub_device import HubDevice, hub_topic
    from integrations.devices.mqtt.methods import methods
    from integrations.devices.mqtt.native.natives import Natives
    from integrations.devices.mqtt.nodes import MqttNodes
    from integrations.devices.mqtt.page import mqtt_page, routes
    from integrations.devices.mqtt.services import register_services
    from integrations.devices.mqtt.taps import Taps

    hub, prefix = await hub_id(host), config["discovery_prefix"]
    address, broker = await broker_of(host, config, hub)
    bridge = MqttBridge(host, address)
    rights = AnnouncerRights(broker)
    discovery = Discovery(host, bridge, prefix, hub_topic(prefix, hub), rights)
    register_services(host, bridge)
    taps = Taps(bridge, host.clock)
    for method in methods(bridge, taps, discovery, broker):
        host.methods.add(method)
    host.pages.add(mqtt_page(bridge, discovery, broker, str(host.time_zone)))
    for route in routes():
        host.routes.add(route)
    if config["discovery"]:
        await discovery.begin()
        Natives(host, bridge, discovery, rights).begin()
    if config["nodes"]:
        await host.nodes.add(MqttNodes(frozenset(config["nodes"]), bridge, host.nodes.registry))
    HubDevice(host, bridge, hub, config).begin()
    follow_birth(host, bridge, hub, prefix, config["publish_birth"])
    bridge.begin()
    host.spawn(bridge.connection.run(), name="connect to the MQTT broker")
