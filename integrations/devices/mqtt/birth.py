"""The hub's birth messages: its own, and Home Assistant's where none is present.

Devices announce themselves again when they see the birth message of a home.
"""

from __future__ import annotations

from contextlib import suppress

from hub.core.errors import HubError
from hub.host import IntegrationHost
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.brokers import status_topic

ONLINE = "online"
LOOK_S = 3.0
"""How long another home may take to be seen, before the hub says that it is one."""


def follow_birth(host: IntegrationHost, bridge: MqttBridge, hub: str, prefix: str, mode: str) -> None:
    """Publish both messages with each connection.

    Args:
        mode: `auto`, `always` or `never`.
    """
    topic = f"{prefix}/status"
    own: list[bytes] = []
    others = False

    def heard(message: MqttMessage) -> None:
        nonlocal others
        if message.payload in own:
            own.remove(message.payload)
        else:
            others = message.payload == ONLINE.encode()

    async def publish() -> None:
        await bridge.publish(status_topic(hub), ONLINE, qos=1, retain=True)
        if mode == "auto":
            await host.clock.sleep(LOOK_S)
        if mode == "always" or (mode == "auto" and not others):
            own.append(ONLINE.encode())
            await bridge.publish(topic, ONLINE)

    async def guarded() -> None:
        with suppress(HubError):  # the connection was lost again; the next one says it
            await publish()

    def changed(connected: bool) -> None:
        if connected:
            host.spawn(guarded(), name="say that the hub is there")

    if mode == "auto":
        bridge.listen(topic, heard)
    bridge.on_change(changed)
