"""Integrations that are found by an MQTT topic: `mqtt` of their manifests."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

from hub.core.events import Event
from hub.host import IntegrationHost
from hub.integration.catalog import CatalogEntry
from hub.integration.manifest import ServiceMatcher
from hub.integration.mqtt_topics import (
    EVENT_BRIDGE_READY,
    EVENT_MESSAGE,
    EVENT_WANTED,
    filter_of,
    fits,
    problem_of,
)
from integrations.network.discovery.found import FoundService, FoundServices

_log = logging.getLogger(__name__)


def follow_topics(host: IntegrationHost, found: FoundServices, catalog: Mapping[str, CatalogEntry]) -> None:
    """Add an integration to the found ones when a message comes on a topic of its manifest."""
    for domain, entry in catalog.items():
        if (manifest := entry.manifest) is None:
            continue
        for topic in manifest.mqtt:
            if (problem := problem_of(topic)) is not None:
                _log.warning("manifest.json of %s: mqtt: %s: %s", domain, topic, problem)
            else:
                _follow(host, topic, found, ServiceMatcher("mqtt", manifest.name, domain))


def _service(topic: str, matcher: ServiceMatcher) -> FoundService:
    id = hashlib.sha256(f"mqtt {matcher.key}".encode()).hexdigest()[:12]
    return FoundService(id, "".join(each for each in topic if each.isprintable())[:63], "", 0, matcher)


def _follow(host: IntegrationHost, topic: str, found: FoundServices, matcher: ServiceMatcher) -> None:
    def want(_: Event | None = None) -> None:
        host.bus.fire(EVENT_WANTED, {"topic": topic, "qos": 0, "wanted": True})

    def came(event: Event) -> None:
        if fits(topic, event.data["topic"]):
            found.put(f"mqtt {matcher.key}", _service(event.data["topic"], matcher))
            for end in ends:
                end()
            host.bus.fire(EVENT_WANTED, {"topic": topic, "qos": 0, "wanted": False})

    ends = [host.bus.listen(EVENT_MESSAGE, came, filter_of(topic)), host.bus.listen(EVENT_BRIDGE_READY, want)]
    want()
