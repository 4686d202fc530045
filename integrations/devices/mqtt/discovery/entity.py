"""An entity made of an announcement: it follows its topics and publishes its commands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from hub.core.errors import HubError, Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.entities.description import EntityDescription
from hub.entities.pictures import Picture
from hub.host import IntegrationHost
from hub.security.egress import parse_url
from integrations.devices.fetched_picture import fetch_picture
from integrations.devices.mqtt.bridge import MqttBridge, MqttMessage
from integrations.devices.mqtt.discovery.announcement import Announced
from integrations.devices.mqtt.discovery.family import STATE, Command, Family, TopicReading, TopicWriting
from integrations.devices.mqtt.discovery.values import PayloadTemplates, Read
from integrations.devices.mqtt.topics import NODES

_log = logging.getLogger(__name__)

ATTRIBUTES_LIMIT_BYTES = 16_384
ATTRIBUTES_LIMIT = 100
SOURCE = "mqtt"


class EntityParts(Struct, frozen=True):
    """The shared dependencies of entities."""

    host: IntegrationHost
    bridge: MqttBridge
    templates: PayloadTemplates


class MqttEntity:
    """An entity of a device.

    Args:
        is_new: Whether agents wait for a person's word, unless it is known.

    Attributes:
        config: The announced configuration.
        state, attributes: The values read last.
    """

    def __init__(self, parts: EntityParts, announced: Announced, family: Family, *, is_new: bool) -> None:
        self.parts = parts
        self._is_new = is_new
        self.announced, self.family = announced, family
        self.config: Mapping[str, Any] = announced.config
        self.state: str | None = None
        self.attributes: dict[str, Any] = {}
        self.picture: tuple[bytes, str] | None = None
        self.picture_url: str | None = None
        self._json_attributes: Mapping[str, Any] = {}
        self._is_available: dict[str, bool] = {}
        self._last_said = False
        self._ends: list[Unsubscribe] = []
        self._expiry: asyncio.Task[Any] | None = None
        self.handle = parts.host.entities.add(self._description(), self._commands(), source=SOURCE)
        self._listen()

    def change(self, announced: Announced, family: Family) -> None:
        """Take over a new announcement of the same entity."""
        self._stop()
        self.announced, self.family, self.config = announced, family, announced.config
        self._is_available = {}
        self.handle.update(self._description(), self._commands())
        self._listen()

    def remove(self) -> None:
        """Remove it, and people's decisions about it."""
        self._stop()
        self.handle.remove(forget=True)

    def show(self) -> None:
        """Write state and attributes."""
        self._write()
        if (expire := self.config.get("expire_after")) and self.announced.component in ("sensor", "binary_sensor"):
            self.after(float(expire), self._expire)

    def set(self, into: str, value: Any) -> None:
        """Set the state or an attribute, without showing it yet."""
        if into == STATE:
            self.state = None if value is None else str(value)
        else:
            self.attributes[into] = value

    async def send(self, topic_key: str, payload: str) -> None:
        """Publish on the topic under a key of the configuration."""
        qos, retain = int(self.config.get("qos") or 0), self.config.get("retain") is True
        await self.parts.bridge.publish(self.config[topic_key], payload, qos=min(qos, 2), retain=retain)

    def is_optimistic(self, state_topic: str) -> bool:
        """Whether no state topic confirms commands."""
        return self.config.get("optimistic") is True or not self.config.get(state_topic)

    def reader(self, template_key: str) -> Read:
        """Return the reader of payloads for the template under a key."""
        encoding = self.config.get("encoding", "utf-8") or "latin-1"
        return self.parts.templates.reader(self.config.get(template_key), self._place(template_key), encoding)

    def maker(self, template_key: str) -> Callable[[Mapping[str, Any]], str]:
        """Return the maker of payloads for the template under a key."""
        return self.parts.templates.command(self.config.get(template_key), self._place(template_key))

    # --- below ---

    def _place(self, key: str) -> str:
        return f"MQTT {self.announced.component} {self.announced.unique_id}, {key}"

    def _description(self) -> EntityDescription:
        config, announced = self.config, self.announced
        wanted = config.get("default_entity_id") or config.get("object_id")
        object_id = str(wanted).rpartition(".")[2] if wanted else None
        fixed = {
            name: value
            for name, (key, default) in self.family.attributes.items()
            if (value := config.get(key, default)) is not None
        }

        def text(key: str) -> str | None:
            value = config.get(key)
            return value if isinstance(value, str) and value else None

        default_name = None if announced.device is not None else announced.unique_id
        return EntityDescription(
            announced.component,
            f"{announced.component}.{announced.unique_id}",
            name=text("name") or default_name,
            object_id=object_id,
            device=announced.device,
            device_class=text("device_class"),
            unit=text("unit_of_measurement"),
            icon=text("icon"),
            entity_category=text("entity_category"),
            attributes=fixed,
            enabled_by_default=config.get("enabled_by_default") is not False,
            is_new=self._is_new,
            picture=self._last_picture if self.family.large else None,
        )

    async def _last_picture(self) -> Picture:
        if self.picture_url is not None:
            return await fetch_picture(self.parts.host.egress, self.picture_url)
        if self.picture is None:
            raise Unavailable(phrase("{entity} has sent no picture yet", entity=self.handle.entity_id))
        return Picture(*self.picture)

    def _listen(self) -> None:
        for reading in self.family.readings:
            for key in (reading.topic, f"further_{reading.topic}"):
                if self.config.get(key):
                    self._read(reading, self.config[key])
        if topic := self.config.get("json_attributes_topic"):
            read = self.reader("json_attributes_template")
            self._on(topic, lambda message: self._take_attributes(read(message.payload)))
        self._follow_availability()

    def _on(self, topic: str, take: Callable[[MqttMessage], None], *, large: bool = False) -> None:
        def came(message: MqttMessage) -> None:
            if message.topic.startswith(f"{NODES}/"):
                return  # a filter may take it, but topics of nodes are for the hub alone
            try:
                take(message)
            except (HubError, ValueError, TypeError, KeyError, ArithmeticError) as error:
                _log.debug("%s: a message on %s is not understood: %s", self.handle.entity_id, topic, error)

        self._ends.append(self.parts.bridge.listen(topic, came, large=large))

    def _read(self, reading: TopicReading, topic: str) -> None:
        read = self.reader(reading.template)
        uses_template = bool(self.config.get(reading.template))

        def take(message: MqttMessage) -> None:
            value = read(message.payload)
            if value == "" and (uses_template or reading.into != STATE):
                return
            if reading.take is not None:
                reading.take(self, value)
            else:
                self.set(reading.into, reading.convert(value, self.config))
            self.show()

        large = self.family.large and reading.take is None
        self._on(topic, _picture(self) if large else take, large=large)

    def take_picture_url(self, text: str) -> None:
        """Note where its picture is; an address that is none is told, and the picture stays what it was."""
        try:
            parse_url(text)
        except HubError as error:
            _log.warning("%s: %s", self.handle.entity_id, error.message)
        else:
            self.picture_url = text
        self.set(STATE, self.parts.host.clock.now().isoformat())

    def _take_attributes(self, text: str) -> None:
        found = self.parts.templates.as_json(text.encode())
        if isinstance(found, dict) and len(text) <= ATTRIBUTES_LIMIT_BYTES and len(found) <= ATTRIBUTES_LIMIT:
            self._json_attributes = found
            self._write()

    def _write(self) -> None:
        self.handle.set(self.state, {**self._json_attributes, **self.attributes})

    def _follow_availability(self) -> None:
        listed = list(self.config.get("availability") or ())
        if topic := self.config.get("availability_topic"):
            keys = ("payload_available", "payload_not_available")
            own = {key: self.config[key] for key in keys if key in self.config}
            listed.append({"topic": topic, "value_template": self.config.get("availability_template"), **own})
        for place, each in enumerate(listed):
            if each.get("topic"):
                self._follow(f"{place} {each['topic']}", each)
        self.judge_availability()

    def _follow(self, name: str, said: Mapping[str, Any]) -> None:
        self._is_available[name] = False
        read = self.parts.templates.reader(said.get("value_template"), self._place("availability"))
        yes = str(said.get("payload_available", self.config.get("payload_available", "online")))
        no = str(said.get("payload_not_available", self.config.get("payload_not_available", "offline")))

        def take(message: MqttMessage) -> None:
            value = read(message.payload)
            if value in (yes, no):
                self._is_available[name] = self._last_said = value == yes
                self.judge_availability()

        self._on(said["topic"], take)

    def judge_availability(self) -> None:
        """Re-evaluate whether it can be reached."""
        found = list(self._is_available.values())
        mode = self.config.get("availability_mode", "latest")
        there = all(found) if mode == "all" else any(found) if mode == "any" else self._last_said
        self.handle.available(self.parts.bridge.connected and (there or not found))

    def _expire(self) -> None:
        self.handle.available(False)

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Call `then` after a time, unless something is shown before."""
        if self._expiry is not None:
            self._expiry.cancel()
        if then == self._expire and not self.handle.is_available:
            self.judge_availability()

        async def wait() -> None:
            await self.parts.host.clock.sleep(seconds)
            then()

        self._expiry = self.parts.host.spawn(wait(), name=f"wait for {self.handle.entity_id}")

    def _stop(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        for end in self._ends:
            end()
        self._ends.clear()

    def _commands(self) -> dict[str, Command]:
        commands = {
            each.service: self._command(each)
            for each in self.family.writings
            if self.config.get(each.topic) and (each.payload[0] == "" or self.config.get(*each.payload) is not None)
        }
        return commands | dict(self.family.further(self) if self.family.further is not None else {})

    def _command(self, writing: TopicWriting) -> Command:
        make = self.maker(writing.template)

        async def run(data: Mapping[str, Any]) -> None:
            value = data[writing.field] if writing.field else self.config.get(*writing.payload)
            sent = writing.convert(value, self.config)
            await self.send(writing.topic, make({**data, "value": sent}))
            if writing.into and self.is_optimistic(writing.state):
                self.set(writing.into, value if writing.shown is None else writing.shown)
                self.show()

        return run


def _picture(entity: MqttEntity) -> Callable[[MqttMessage], None]:
    def take(message: MqttMessage) -> None:
        import base64

        encoded = entity.config.get("image_encoding") == "b64"
        data = base64.b64decode(message.payload, validate=True) if encoded else message.payload
        entity.picture = (data, str(entity.config.get("content_type", "image/jpeg")))
        entity.set(
            STATE, "idle" if entity.announced.component == "camera" else entity.parts.host.clock.now().isoformat()
        )
        entity.show()

    return take
