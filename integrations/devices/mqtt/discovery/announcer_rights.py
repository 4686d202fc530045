"""The rights of an announcer: its devices cannot make the hub do what the announcer may not do at the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.errors import InvalidRequest
from integrations.devices.mqtt.bridge import MqttMessage
from integrations.devices.mqtt.discovery.announcement import Announced

if TYPE_CHECKING:
    from integrations.devices.mqtt.broker import BrokerClient, EmbeddedBroker


class AnnouncerRights:
    """Judges the topics of announcements.

    Args:
        broker: The embedded broker, which knows who wrote; at another one nobody does, and all of it is taken.
    """

    def __init__(self, broker: EmbeddedBroker | None) -> None:
        self._broker = broker

    @property
    def knows_writers(self) -> bool:
        """Whether the writer of a message is known."""
        return self._broker is not None

    def check(self, message: MqttMessage, announced: Announced) -> None:
        """Check that the writer of a message may use the topics that it names.

        Raises:
            InvalidRequest: They may not, or nobody knows who it was.
        """
        if self._broker is None:
            return
        name, client = self._writer(self._broker, message)
        for key, topic in announced.topics(commands=True):
            if not client.may_publish(topic):
                raise InvalidRequest(f"{key}: {name} may not write {topic}; mqtt: clients: {name}: publish: allows it")
        for key, topic in announced.topics(commands=False):
            if not client.may_publish(topic) and not client.may_subscribe(topic):
                raise InvalidRequest(f"{key}: {name} may not read {topic}; mqtt: clients: {name}: subscribe: allows it")

    def is_known(self, message: MqttMessage) -> bool:
        """Whether the owner gave the writer of a message a name at the broker."""
        if self._broker is None:
            return False
        from integrations.devices.mqtt.broker import HUB

        name = self._broker.writer_of(message.topic, message.payload)
        return bool(name) and name != HUB and name in self._broker.clients

    def may_ask(self, message: MqttMessage, topic: str) -> bool:
        """Whether the writer of a message may write a topic."""
        return self._broker is None or self._writer(self._broker, message)[1].may_publish(topic)

    def _writer(self, broker: EmbeddedBroker, message: MqttMessage) -> tuple[str, BrokerClient]:
        name = broker.writer_of(message.topic, message.payload)
        client = broker.clients.get(name) if name is not None else None
        if name is None or client is None:
            raise InvalidRequest("it is not known who announced it; let the device announce itself again")
        return name or "a client without a name", client
