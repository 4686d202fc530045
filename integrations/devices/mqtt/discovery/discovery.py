"""Discovery: follows the announcements of devices, and adds, changes and removes their entities."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hub.automation.triggers.device import EVENT_DEVICE
from hub.core.context import system_context
from hub.core.errors import HubError, InvalidRequest
from hub.host import IntegrationHost
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.discovery.announcement import DEVICE, Announced, Announcement, read_announcement
from integrations.devices.mqtt.discovery.announcer_rights import AnnouncerRights
from integrations.devices.mqtt.discovery.command_topics import CommandTopics
from integrations.devices.mqtt.discovery.entity import SOURCE, EntityParts, MqttEntity
from integrations.devices.mqtt.discovery.family import Family
from integrations.devices.mqtt.discovery.graded import GRADED
from integrations.devices.mqtt.discovery.light import light_family
from integrations.devices.mqtt.discovery.simple import SIMPLE
from integrations.devices.mqtt.discovery.values import PayloadTemplates

_log = logging.getLogger(__name__)

FAMILIES: Mapping[str, Family] = {**SIMPLE, **GRADED}
REPORTED = ("device_automation", "tag")
"""Components that are not entities: what happens to them is an event."""
COMPONENTS = (*FAMILIES, "light", *REPORTED)
EVENT_TAG = "tag_scanned"
TOPICS_LIMIT = 20_000
BYTES_LIMIT = 67_108_864
"""Of all announcements; one of them has at most 512 KiB."""
REFUSED_LIMIT = 500


class Discovery:
    """Knows what has been announced.

    Args:
        prefix: The topic of announcements.
        own: The topic of the hub's own announcement.
        rights: Knows the broker's rights of a message's writer; another broker does not reveal writers.
    """

    def __init__(
        self, host: IntegrationHost, bridge: MqttBridge, prefix: str, own: str, rights: AnnouncerRights
    ) -> None:
        self._host, self._bridge, self._prefix, self._own, self._rights = host, bridge, prefix, own, rights
        self._parts = EntityParts(host, bridge, PayloadTemplates(host.clock, lambda: host.time_zone))
        self._commands = CommandTopics(host)
        self._said: dict[str, tuple[int, int]] = {}
        self._bytes = 0
        self._topics: dict[str, set[tuple[str, str]]] = {}
        self._entities: dict[tuple[str, str], tuple[str | None, MqttEntity]] = {}
        self._reports: dict[tuple[str, str], tuple[str, Callable[[], None]]] = {}
        self.triggers: dict[tuple[str, str], dict[str, Any]] = {}
        """What devices report, as `device` triggers name it."""
        self.refused: dict[str, dict[str, str]] = {}
        """Why announcements were not taken, by topic and by what they announced."""
        bridge.on_change(self._connection_changed)

    async def begin(self) -> None:
        """Follow the announcements: a filter for each kind, since filters that overlap bring messages twice."""
        await asyncio.to_thread(self._parts.templates.load)
        for component in (*COMPONENTS, DEVICE):
            for shape in ("+", "+/+"):
                self._bridge.listen(f"{self._prefix}/{component}/{shape}/config", self._came, large=True)

    def announce(self, message: MqttMessage, announcement: Announcement) -> None:
        """Apply what a topic announces; what it announced before and no longer does is removed.

        Args:
            message: The announcing message: no other topic changes these components.
        """
        topic = message.topic
        for name, reason in announcement.refused.items():
            self.refuse(topic, reason, name)
        old = self._topics.get(topic, set())
        if announcement.migrates:
            for key in old & self._entities.keys():
                self._entities[key] = (None, self._entities[key][1])
            self._topics.pop(topic, None)
            return
        mine: set[tuple[str, str]] = set()
        for each in announcement.components:
            try:
                self._rights.check(message, each)
                self._take(topic, each, is_new=not self._rights.is_known(message))
                mine.add(each.key)
            except HubError as error:
                self.refuse(topic, error.message, f"{each.component} {each.unique_id}")
        for key in old - mine:
            self._remove(topic, key)
        if mine:
            self._topics[topic] = mine
        else:
            self._topics.pop(topic, None)

    def all(self) -> Iterable[tuple[str | None, MqttEntity]]:
        """Return the entities with the topics that announced them."""
        return list(self._entities.values())

    def entity(self, entity_id: str) -> MqttEntity | None:
        """Return an entity by its id."""
        return next((each for _, each in self._entities.values() if each.handle.entity_id == entity_id), None)

    def refuse(self, topic: str, reason: str, name: str = "") -> None:
        """Note why something that was announced is not taken."""
        if len(self.refused) < REFUSED_LIMIT:
            _log.warning("MQTT discovery: %s %s is not taken: %s", topic[:300], name[:100], reason)
        elif topic not in self.refused:
            del self.refused[next(iter(self.refused))]
        self.refused.setdefault(topic, {})[name[:100]] = reason

    # --- below ---

    def _came(self, message: MqttMessage) -> None:
        topic = message.topic
        said = (hash(message.payload), len(message.payload))
        if topic == self._own or self._said.get(topic) == said:
            return
        grown = self._bytes + said[1] - self._said.get(topic, (0, 0))[1]
        if message.payload and (
            (topic not in self._said and len(self._said) >= TOPICS_LIMIT) or max(grown, said[1] * 128) > BYTES_LIMIT
        ):
            self.refuse(topic, f"it is too large, or there are {TOPICS_LIMIT} announcements or {BYTES_LIMIT} bytes")
            return
        self.refused.pop(topic, None)
        try:
            announcement = read_announcement(topic, message.payload, self._prefix)
        except InvalidRequest as error:
            self.refuse(topic, error.message)
            return
        self._bytes += said[1] - self._said.pop(topic, (0, 0))[1]
        self.announce(message, announcement)
        if message.payload:  # what was not taken is looked at again, for its device may have other rights then
            self._said[topic] = (0, said[1]) if topic in self.refused else said

    def _take(self, topic: str, announced: Announced, *, is_new: bool) -> None:
        if announced.component in REPORTED:
            self._follow_reports(topic, announced)
            return
        family = light_family(announced.config) if announced.component == "light" else FAMILIES.get(announced.component)
        if family is None:
            raise InvalidRequest(f"{announced.component} is not supported")
        for key, command in announced.topics(commands=True):
            if command.startswith(f"{self._prefix}/"):
                raise InvalidRequest(f"{key}: topics below {self._prefix}/ are for announcements")
        owner, entity = self._entities.get(announced.key, (None, None))
        if owner is not None and owner != topic:
            raise InvalidRequest(f"{owner} has announced the same unique_id")
        if entity is None:
            entity = MqttEntity(self._parts, announced, family, is_new=is_new)
        elif entity.announced != announced:
            entity.change(announced, family)
        self._entities[announced.key] = (topic, entity)
        if not self._rights.knows_writers:
            self._commands.name(entity, topic)

    def _remove(self, topic: str, key: tuple[str, str]) -> None:
        owner, entity = self._entities.get(key, (None, None))
        if entity is not None and owner == topic:
            del self._entities[key]
            self._commands.forget(entity)
            entity.remove()
        if key in self._reports and self._reports[key][0] == topic:
            self._reports.pop(key)[1]()
            self.triggers.pop(key, None)

    def _follow_reports(self, topic: str, announced: Announced) -> None:
        config, key = announced.config, announced.key
        read = self._parts.templates.reader(config.get("value_template"), f"MQTT {key[0]} {key[1]}")
        if not config.get("topic"):
            raise InvalidRequest("topic is missing")
        trigger: dict[str, Any] = {}
        if announced.component == "device_automation":
            trigger = {each: config.get(each) for each in ("type", "subtype")}
            if announced.device is None or not all(isinstance(each, str) and each for each in trigger.values()):
                raise InvalidRequest("expected device, type and subtype")
            registry = self._host.entities.registry
            trigger["device_id"] = registry.device_for(SOURCE, announced.device).id

        def came(message: MqttMessage) -> None:
            said = read(message.payload)[:255]
            if not said or message.retain:
                return  # what is kept has not happened now
            if not trigger:
                self._host.bus.fire(EVENT_TAG, {"tag_id": said}, system_context().tainted())
            elif said == str(config.get("payload", said)):
                self._host.bus.fire(EVENT_DEVICE, {**trigger, "data": {"payload": said}}, system_context().tainted())

        self._remove(topic, key)
        self._reports[key] = (topic, self._bridge.listen(config["topic"], came))
        if trigger:
            self.triggers[key] = trigger

    def _connection_changed(self, _: bool) -> None:
        for _topic, entity in self._entities.values():
            entity.judge_availability()


def announcements_data(discovery: Discovery) -> dict[str, Any]:
    """Return all announcements, as plain data."""
    return {
        "entities": [
            {
                "entity_id": entity.handle.entity_id,
                "component": entity.announced.component,
                "unique_id": entity.announced.unique_id,
                "device": entity.announced.device.name if entity.announced.device is not None else None,
                "origin": entity.announced.origin,
                "topic": topic,
            }
            for topic, entity in discovery.all()
        ],
        "triggers": list(discovery.triggers.values()),
        "refused": [
            {"what": f"{topic} {name}".strip(), "reason": reason}
            for topic, reasons in discovery.refused.items()
            for name, reason in reasons.items()
        ],
    }
