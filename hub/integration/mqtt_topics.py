"""MQTT topics and topic filters, and how the bus finds who waits for a topic.

The event `mqtt_message` carries, besides topic, payload, qos and retain, the number of levels of its topic and the
first of them each under a key of its own. So a filter with wildcards becomes a `where` like any other, and a message
costs one look-up for each shape of filter, however many there are.
"""

from __future__ import annotations

from typing import Any

from hub.core.phrases import phrase

EVENT_MESSAGE = "mqtt_message"
"""Fired by the MQTT bridge with `message_data(…)` for each message that comes in."""
EVENT_WANTED = "mqtt_topic_wanted"
"""A trigger waits for `topic` (a filter) with `qos`; `wanted` false when it does no longer. The bridge subscribes."""
EVENT_BRIDGE_READY = "mqtt_bridge_ready"
"""Fired by the bridge when it is connected; every trigger then tells its topic again."""
TOPIC_BYTES_LIMIT = 65_535
LEVELS_INDEXED = 8


def message_data(topic: str, payload: bytes | str, *, qos: int = 0, retain: bool = False) -> dict[str, Any]:
    """Return the data of an `mqtt_message`."""
    levels = topic.split("/")
    data: dict[str, Any] = {"topic": topic, "payload": payload, "qos": qos, "retain": retain, "levels": len(levels)}
    for place, level in enumerate(levels[:LEVELS_INDEXED]):
        data[f"level_{place}"] = level
    return data


def problem_of(topic_filter: str) -> str | None:
    """Return the problem of a topic filter, or None."""
    if not topic_filter:
        return phrase("a topic is not empty")
    if "\x00" in topic_filter or len(topic_filter.encode("utf-8", "surrogatepass")) > TOPIC_BYTES_LIMIT:
        return phrase("a topic has no NUL and at most {limit} bytes", limit=TOPIC_BYTES_LIMIT)
    levels = topic_filter.split("/")
    for place, level in enumerate(levels):
        if "#" in level and (level != "#" or place != len(levels) - 1):
            return phrase("# may only be the whole last level of a topic")
        if "+" in level and level != "+":
            return phrase("+ may only be a whole level of a topic")
    return None


def is_wild(topic_filter: str) -> bool:
    """Whether a filter may fit more than one topic."""
    return "+" in topic_filter or "#" in topic_filter


def filter_of(topic_filter: str) -> dict[str, Any] | None:
    """Return the event filter for a topic filter's messages; None for `#`. Matches still have to be compared."""
    if not is_wild(topic_filter):
        return {"topic": topic_filter}
    levels = topic_filter.split("/")
    where: dict[str, Any] = {
        f"level_{place}": level for place, level in enumerate(levels[:LEVELS_INDEXED]) if level not in ("+", "#")
    }
    if levels[-1] != "#":
        where["levels"] = len(levels)
    return where or None


def fits(topic_filter: str, topic: str) -> bool:
    """Whether a topic matches a filter; wildcards do not match topics that begin with `$`."""
    if not is_wild(topic_filter):
        return topic_filter == topic
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for place, level in enumerate(wanted):
        if level == "#":
            return True
        if place >= len(levels) or level not in ("+", levels[place]):
            return False
    return len(wanted) == len(levels)
