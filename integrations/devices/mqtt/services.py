"""The services `mqtt.publish` and `mqtt.permit_join`."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from typing import Any

from hub.core.schema import All, Coerce, In, Invalid, Optional, Range, Required, Schema, boolean
from hub.core.services import AgentRule, ServiceCall
from hub.host import IntegrationHost
from integrations.devices.mqtt.bridge import MqttBridge
from integrations.devices.mqtt.topics import check_topic


def payload_text(value: Any) -> str:
    """Return a payload as it is sent: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        raise Invalid("expected text, a number, a list or a mapping") from None


PUBLISH = {
    Required("topic", description="Where to publish it."): check_topic,
    Optional("payload", default="", description="What it says; a mapping is sent as JSON."): payload_text,
    Optional("qos", default=0, description="0, 1 or 2."): All(Coerce(int), In([0, 1, 2])),
    Optional("retain", default=False, description="Whether the broker keeps it."): boolean,
}

PUBLISH_SERVICE = {
    **PUBLISH,
    Optional("evaluate_payload", default=False, description="Whether b'…' in the payload means bytes."): boolean,
}

PERMIT_JOIN = {
    Optional("time", default=120, description="Seconds; 0 ends it."): All(Coerce(int), Range(min=0, max=254)),
    Optional("base", default="zigbee2mqtt", description="The base topic of the bridge."): check_topic,
}


def register_services(host: IntegrationHost, bridge: MqttBridge) -> None:
    """Offer the services; a model that calls them asks first."""

    async def publish(call: ServiceCall) -> None:
        data = call.data
        payload: str | bytes = data["payload"]
        if data["evaluate_payload"] and data["payload"].startswith(("b'", 'b"')):
            # What is not a literal of bytes is text, as it is for Home Assistant.
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                found = ast.literal_eval(data["payload"])
                payload = found if isinstance(found, bytes) else payload
        await bridge.publish(data["topic"], payload, qos=data["qos"], retain=data["retain"])

    async def permit_join(call: ServiceCall) -> None:
        topic = f"{call.data['base']}/bridge/request/permit_join"
        await bridge.publish(topic, json.dumps({"time": call.data["time"]}), qos=1)

    for name, handler, fields, description in (
        ("permit_join", permit_join, PERMIT_JOIN, "Let Zigbee devices join through Zigbee2MQTT for a while"),
        ("publish", publish, PUBLISH_SERVICE, "Publish a message on an MQTT topic"),
    ):
        host.services.register(
            name,
            handler,
            Schema(fields),
            agent=AgentRule.ASK,
            description=description,
            fields={
                str(key): {"description": key.description, "required": isinstance(key, Required)} for key in fields
            },
        )
