"""Gateway methods of the bridge: `mqtt.status`, `mqtt.discovered`, `mqtt.messages` and `mqtt.publish`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer, number
from hub.core.surfaces import Method, MethodCall
from integrations.devices.mqtt.bridge import MqttBridge
from integrations.devices.mqtt.discovery.discovery import Discovery, announcements_data
from integrations.devices.mqtt.services import PUBLISH
from integrations.devices.mqtt.taps import Taps
from integrations.devices.mqtt.topics import valid_filter

if TYPE_CHECKING:
    from integrations.devices.mqtt.broker import EmbeddedBroker

DOMAIN = "mqtt"
WAIT_LIMIT_S = 30


LOOK = {
    Required("topic"): All(valid_filter, Length(max=1_024)),
    Optional("after", default=0): integer,
    Optional("wait", default=0): All(number, Range(min=0, max=WAIT_LIMIT_S)),
}


def methods(bridge: MqttBridge, taps: Taps, discovery: Discovery, broker: EmbeddedBroker | None) -> list[Method]:
    """Return the methods."""

    async def discovered(call: MethodCall) -> Mapping[str, Any]:
        return announcements_data(discovery)

    async def status(call: MethodCall) -> Mapping[str, Any]:
        return status_of(bridge, broker)

    async def messages(call: MethodCall) -> Mapping[str, Any]:
        return await taps.look(call.params["topic"], call.params["after"], call.params["wait"])

    async def publish(call: MethodCall) -> Mapping[str, Any]:
        data = call.params
        await bridge.publish(data["topic"], data["payload"], qos=data["qos"], retain=data["retain"])
        return {}

    return [
        Method("mqtt.status", status, DOMAIN, Schema({})),
        Method("mqtt.discovered", discovered, DOMAIN, Schema({})),
        Method("mqtt.messages", messages, DOMAIN, Schema(LOOK)),
        Method("mqtt.publish", publish, DOMAIN, Schema(PUBLISH), acts=True),
    ]


def status_of(bridge: MqttBridge, broker: EmbeddedBroker | None) -> dict[str, Any]:
    """Return how the connection is, and on which port the embedded broker listens."""
    return {
        "listening": broker.port if broker is not None else None,
        "connected": bridge.connection.is_up,
        "reason": "" if bridge.connection.is_up else bridge.reason,
        "received": bridge.received,
        "dropped": bridge.dropped,
        "subscriptions": len(bridge.connection.subscriptions.active),
    }
