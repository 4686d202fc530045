"""Follows the families with an announcement format of their own, and translates them for discovery."""

from __future__ import annotations

import json
import logging
from typing import Any

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.host import IntegrationHost
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.discovery.announcement import Announced, Announcement
from integrations.devices.mqtt.discovery.announcer_rights import AnnouncerRights
from integrations.devices.mqtt.discovery.discovery import Discovery
from integrations.devices.mqtt.native import frigate, owntracks, tasmota, zigbee2mqtt

_log = logging.getLogger(__name__)

FILTERS = (
    "tasmota/discovery/+/config",
    "tasmota/discovery/+/sensors",
    "zigbee2mqtt/bridge/info",
    "zigbee2mqtt/bridge/devices",
    "frigate/stats",
    "owntracks/+/+",
)
DEVICES_LIMIT = 1_000


class Natives:
    """Keeps the state of families whose announcements span several messages."""

    def __init__(
        self, host: IntegrationHost, bridge: MqttBridge, discovery: Discovery, rights: AnnouncerRights
    ) -> None:
        self._host, self._bridge, self._discovery, self._rights = host, bridge, discovery, rights
        self._tasmota: dict[str, dict[str, Any]] = {}
        self._followed: dict[str, Announcement] = {}
        self._zigbee_announces = self._zigbee_available = False
        self._zigbee_devices: list[Any] = []
        self._zigbee_told: MqttMessage | None = None

    def begin(self) -> None:
        """Follow them."""
        for each in FILTERS:
            self._bridge.listen(each, self._came, large=True)

    def _came(self, message: MqttMessage) -> None:
        try:
            self._take(message)
        except (HubError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            self._discovery.refuse(message.topic, f"it is not in the format of its family: {error}")

    def _take(self, message: MqttMessage) -> None:
        said = json.loads(message.payload) if message.payload else None
        levels = message.topic.split("/")
        match levels[0], levels[-1]:
            case "tasmota", "config":
                self._take_tasmota(levels[2], message, said)
            case "tasmota", _:
                config = self._tasmota.get(levels[2])
                self._announce(message, tasmota.sensors(config, said) if config and said else [])
            case "zigbee2mqtt", "info":
                self._zigbee_announces = zigbee2mqtt.announces_itself(said)
                self._zigbee_available = zigbee2mqtt.tells_availability(said)
                self._take_zigbee()
            case "zigbee2mqtt", _:
                self._zigbee_devices, self._zigbee_told = said if isinstance(said, list) else [], message
                self._take_zigbee()
            case "frigate", _:
                self._announce(message, frigate.cameras(said))
            case _:
                if message.topic not in self._followed:
                    self._announce(message, owntracks.tracker(levels[1], levels[2], message.topic, said))

    def _take_tasmota(self, mac: str, message: MqttMessage, said: Any) -> None:
        if not isinstance(said, dict) or said.get("ver") != 1 or len(self._tasmota) >= DEVICES_LIMIT:
            self._tasmota.pop(mac, None)
            self._announce(message, [])
            self._announce(replace(message, topic=message.topic.replace("/config", "/sensors")), [])
            return
        self._tasmota[mac] = said
        self._announce(message, tasmota.components(said))
        asked = tasmota.topic_of(said, 0) + "STATE"
        if self._rights.may_ask(message, asked):
            self._host.spawn(self._ask(asked), name="ask a Tasmota device for its state")

    def _take_zigbee(self) -> None:
        devices = [] if self._zigbee_announces else self._zigbee_devices
        if self._zigbee_told is not None:
            self._announce(self._zigbee_told, zigbee2mqtt.components(devices, available=self._zigbee_available))

    async def _ask(self, topic: str) -> None:
        try:
            await self._bridge.publish(topic, "")
        except HubError as error:
            _log.debug("a device was not asked for its state: %s", error)

    def _announce(self, message: MqttMessage, components: list[Announced]) -> None:
        topic = message.topic
        announcement = Announcement(tuple(components))
        if self._followed.get(topic, Announcement()) == announcement:
            return
        if components and (topic in self._followed or len(self._followed) < DEVICES_LIMIT):
            self._followed[topic] = announcement
        else:
            self._followed.pop(topic, None)
        self._discovery.refused.pop(topic, None)
        self._discovery.announce(message, announcement)
        if topic in self._discovery.refused:
            self._followed.pop(topic, None)
