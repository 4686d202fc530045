"""`mqtt.status`, `mqtt.messages`, `mqtt.publish`: what the command line and the dashboard ask the bridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.sources.mqtt_topics import problem_of
from hub.core.schema import All, Invalid, Length, Optional, Range, Required, Schema, integer, number, string
from hub.gateway.calls.contract import Method, MethodCall
from integrations.devices.mqtt.bridge import MqttBridge
from integrations.devices.mqtt.services import PUBLISH
from integrations.devices.mqtt.taps import Taps

DOMAIN = "mqtt"
WAIT_LIMIT_S = 30


def _filter(value: Any) -> str:
    text = str(string(value))
    if (problem := problem_of(text)) is not None:
        raise Invalid(problem)
    return text


def methods(bridge: MqttBridge, taps: Taps) -> list[Method]:
    """Return the methods."""

    async def status(call: MethodCall) -> Mapping[str, Any]:
        return status_of(bridge)

    async def messages(call: MethodCall) -> Mapping[str, Any]:
        return await taps.look(call.params["topic"], call.params["after"], call.params["wait"])

    async def publish(call: MethodCall) -> Mapping[str, Any]:
        data = call.params
        await bridge.publish(data["topic"], data["payload"], qos=data["qos"], retain=data["retain"])
        return {}

    look = {
        Required("topic"): All(_filter, Length(max=1_024)),
        Optional("after", default=0): integer,
        Optional("wait", default=0): All(number, Range(min=0, max=WAIT_LIMIT_S)),
    }
    return [
        Method("mqtt.status", status, DOMAIN, Schema({})),
        Method("mqtt.messages", messages, DOMAIN, Schema(look)),
        Method("mqtt.publish", publish, DOMAIN, Schema(PUBLISH), acts=True),
    ]


def status_of(bridge: MqttBridge) -> dict[str, Any]:
    """Return how the connection is."""
    return {
        "connected": bridge.connected,
        "reason": "" if bridge.connected else bridge.reason,
        "received": bridge.received,
        "dropped": bridge.dropped,
        "subscriptions": len(bridge.connection.subscriptions.active),
    }
