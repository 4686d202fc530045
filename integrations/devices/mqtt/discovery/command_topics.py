"""Decides which devices take commands on a topic: a stranger who names a lock's topic has the hub write to the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.phrases import phrase

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from integrations.devices.mqtt.discovery.entity import MqttEntity

DOMAIN = "mqtt"
NAMES_SHOWN = 10


class CommandTopics:
    """Keeps a repair open for each topic that several devices name."""

    def __init__(self, host: IntegrationHost) -> None:
        self._registry, self._repairs = host.entities.registry, host.repairs
        self._named: dict[tuple[str, str], set[tuple[str, str]]] = {}
        """By entity: its device, which the registry knows, with each of its topics."""
        self._takers: dict[str, dict[str, dict[tuple[str, str], str]]] = {}
        """By topic, device and entity: what announced it."""
        host.on_unload(self._clear)

    def name(self, entity: MqttEntity, announced_by: str) -> None:
        """Note the topics that an entity has now."""
        id = entity.handle.entity_id
        entry = self._registry.entities.get(id)
        device = (entry.device_id if entry is not None else None) or id
        self._put(entity, {(device, topic) for _, topic in entity.announced.topics(commands=True)}, announced_by)

    def forget(self, entity: MqttEntity) -> None:
        """Forget the topics that an entity had."""
        self._put(entity, set())

    def _put(self, entity: MqttEntity, named: set[tuple[str, str]], announced_by: str = "") -> None:
        id = entity.announced.key
        had = self._named.pop(id, set())
        if named:
            self._named[id] = named
        for device, topic in had - named:
            takers = self._takers[topic]
            del takers[device][id]
            if not takers[device]:
                del takers[device]
            if not takers:
                del self._takers[topic]
        for device, topic in named:
            self._takers.setdefault(topic, {}).setdefault(device, {})[id] = announced_by
        for topic in {topic for _, topic in had ^ named}:
            self._tell(topic)

    def _tell(self, topic: str) -> None:
        takers, id = self._takers.get(topic, {}), f"shared:{topic}"
        if len(takers) < 2:
            self._repairs.clear(DOMAIN, id)
            return
        names = [f"{self._shown(device)} ({next(iter(by.values()))})" for device, by in takers.items()]
        self._repairs.raise_(
            DOMAIN,
            id,
            phrase("Several MQTT devices take commands on one topic"),
            phrase(
                "{names}: all of them named {topic}. If one of them is not yours, it may be trying to control the other"
                " through the hub: take its rights at your broker away, and empty its announcement.",
                names=[*names[:NAMES_SHOWN], *(["…"] if len(names) > NAMES_SHOWN else [])],
                topic=topic,
            ),
        )

    def _clear(self) -> None:
        for topic in self._takers:
            self._repairs.clear(DOMAIN, f"shared:{topic}")

    def _shown(self, device: str) -> str:
        found = self._registry.devices.get(device)
        return found.shown_name if found is not None else device
