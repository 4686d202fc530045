"""The bridge: passes the broker's messages to their subscribers, and to the triggers of automations."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hub.core.context import system_context
from hub.core.errors import InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.host import IntegrationHost
from hub.integration.mqtt_topics import (
    EVENT_BRIDGE_READY,
    EVENT_MESSAGE,
    EVENT_WANTED,
    fits,
    is_wild,
    message_data,
)
from integrations.devices.mqtt.connection import BrokerAddress, MqttConnection
from integrations.devices.mqtt.topics import PUBLISH_LIMIT_BYTES, REMEMBERED_TOPICS, check_topic, literal_prefix

_log = logging.getLogger(__name__)

PAYLOAD_LIMIT_BYTES = 65_536
"""Longer messages are dropped, except where pictures or lists of devices are expected."""
LARGE_PAYLOAD_BYTES = 4_194_304
REPEATED_WITHIN_S = 1.0


class MqttMessage(Struct, frozen=True):
    """A message that came."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


OnMqttMessage = Callable[[MqttMessage], None]


class _Consumer:
    __slots__ = ("begins", "callback", "large", "topic")

    def __init__(self, topic: str, callback: OnMqttMessage, *, large: bool) -> None:
        self.topic, self.begins = topic, literal_prefix(topic)
        self.callback = callback
        self.large = large


class MqttBridge:
    """Listens and publishes.

    Args:
        address: The broker's address.
    """

    def __init__(self, host: IntegrationHost, address: BrokerAddress) -> None:
        self._host = host
        self._exact: dict[str, list[_Consumer]] = {}
        self._wild: list[_Consumer] = []
        self._routes: dict[str, list[_Consumer]] = {}
        self._triggers: Counter[str] = Counter()
        self._wild_triggers: list[str] = []
        self._retained: OrderedDict[str, int] = OrderedDict()
        self._repeated: OrderedDict[str, tuple[bytes, int, float]] = OrderedDict()
        self._on_change: list[Callable[[bool], None]] = []
        self.reason = "not connected yet"
        self.received = 0
        self.dropped = 0
        self.connection = MqttConnection(address, host.clock, self._came, self._changed, host.lease)
        host.bus.listen(EVENT_WANTED, self._wanted)

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker."""
        return self.connection.connected

    def on_change(self, callback: Callable[[bool], None]) -> Unsubscribe:
        """Call `callback` whenever the connection is made or lost."""
        self._on_change.append(callback)
        return lambda: self._on_change.remove(callback)

    def listen(self, topic_filter: str, callback: OnMqttMessage, *, large: bool = False) -> Unsubscribe:
        """Call `callback` for each message on a topic, or on those of a filter.

        Args:
            large: Whether messages of up to 4 MiB are expected.
        """
        consumer = _Consumer(topic_filter, callback, large=large)
        place = self._wild if is_wild(topic_filter) else self._exact.setdefault(topic_filter, [])
        place.append(consumer)
        self._routes.clear()
        self.connection.subscribe(topic_filter)

        def end() -> None:
            if consumer not in place:
                return
            place.remove(consumer)
            self._routes.clear()
            if not place and place is not self._wild:
                self._exact.pop(topic_filter, None)
            self.connection.unsubscribe(topic_filter)

        return end

    async def publish(self, topic: str, payload: str | bytes, *, qos: int = 0, retain: bool = False) -> None:
        """Publish a message; see `MqttConnection.publish`.

        Raises:
            InvalidRequest: The payload is too large.
        """
        data = payload.encode() if isinstance(payload, str) else payload
        if len(data) > PUBLISH_LIMIT_BYTES:
            raise InvalidRequest(f"an MQTT payload has at most {PUBLISH_LIMIT_BYTES} bytes, this one has {len(data)}")
        await self.connection.publish(check_topic(topic, own=True), data, qos=qos, retain=retain)

    # --- below ---

    def _wanted(self, event: Event) -> None:
        topic, wanted = event.data["topic"], event.data["wanted"]
        if wanted:
            self._triggers[topic] += 1
            if self._triggers[topic] == 1:
                self.connection.subscribe(topic, event.data["qos"])
        elif topic in self._triggers:
            self._triggers[topic] -= 1
            if not self._triggers[topic]:
                del self._triggers[topic]
                self.connection.unsubscribe(topic)
        if is_wild(topic):  # else a thousand triggers would be looked through a thousand times
            self._wild_triggers = [each for each in self._triggers if is_wild(each)]

    def begin(self) -> None:
        """Ask the triggers that were armed before for their topics."""
        self._host.bus.fire(EVENT_BRIDGE_READY)

    def _changed(self, connected: bool, reason: str) -> None:
        if not connected and reason != self.reason:
            _log.warning("the MQTT broker cannot be reached: %s", reason)
        self.reason = reason
        for callback in list(self._on_change):
            callback(connected)

    def _came(self, topic: str, payload: bytes, qos: int, retain: bool) -> None:
        self.received += 1
        if not topic.isprintable() or self._is_repeated(topic, payload, retain=retain):
            self.dropped += 1
            return
        message = MqttMessage(topic, payload, qos, retain)
        for consumer in self._consumers(topic):
            if len(payload) > (LARGE_PAYLOAD_BYTES if consumer.large else PAYLOAD_LIMIT_BYTES):
                self.dropped += 1
                continue
            try:
                consumer.callback(message)
            except Exception:  # one that fails never stops the others, nor the connection
                _log.exception("a message on %s could not be handled", topic)
        if self._triggers and len(payload) <= PAYLOAD_LIMIT_BYTES and self._is_news(topic, payload, retain=retain):
            data = message_data(topic, payload, qos=qos, retain=retain)
            self._host.bus.fire(EVENT_MESSAGE, data, system_context().tainted())

    def _consumers(self, topic: str) -> list[_Consumer]:
        found = self._routes.get(topic)
        if found is None:
            if len(self._routes) >= REMEMBERED_TOPICS:
                self._routes.clear()
            wild = (each for each in self._wild if topic.startswith(each.begins) and fits(each.topic, topic))
            found = [*self._exact.get(topic, ()), *wild]
            self._routes[topic] = found
        return found

    def _is_news(self, topic: str, payload: bytes, *, retain: bool) -> bool:
        """Whether triggers wait for it, and it is not a retained message that they already had."""
        if topic not in self._triggers and not any(fits(each, topic) for each in self._wild_triggers):
            return False
        said = hash(payload)
        if retain and self._retained.get(topic) == said:
            return False
        if retain or topic in self._retained:
            _remember(self._retained, topic, said)
        return True

    def _is_repeated(self, topic: str, payload: bytes, *, retain: bool) -> bool:
        """Whether the broker delivered it for another filter just before."""
        times = self.connection.subscriptions.deliveries(topic)
        if times < 2 or retain:
            return False
        now = self._host.clock.monotonic()
        said, left, when = self._repeated.get(topic, (b"", 0, 0.0))
        if left and said == payload and now - when < REPEATED_WITHIN_S:
            self._repeated[topic] = (said, left - 1, when)
            return True
        _remember(self._repeated, topic, (payload, times - 1, now))
        return False


def _remember(memory: OrderedDict[str, Any], topic: str, value: Any) -> None:
    memory[topic] = value
    memory.move_to_end(topic)
    if len(memory) > REMEMBERED_TOPICS:
        memory.popitem(last=False)
