"""Topics that the hub builds or is given, and the filters that a connection subscribes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid, show, string
from hub.integration.mqtt_topics import fits, is_wild, problem_of

OWN = "homarus"
"""The first level of the hub's own topics."""
NODES = f"{OWN}/node"
"""Below it each node has its topics."""
SEGMENT = re.compile(r"^[^/+#$\x00-\x1f\x7f][^/+#\x00-\x1f\x7f]{0,127}$")
REMEMBERED_TOPICS = 20_000
PUBLISH_LIMIT_BYTES = 1_048_576


def check_topic(value: Any, *, own: bool = False) -> str:
    """Return a topic that something may be published on.

    Args:
        own: Whether topics of the hub itself are permitted; commands to nodes go through their policy alone.

    Raises:
        InvalidRequest: It has wildcards or control characters, or belongs to the broker or to the hub.
    """
    problem = problem_of(value) if isinstance(value, str) else "expected a topic"
    if problem is None and (is_wild(value) or value.startswith("$") or not value.isprintable()):
        problem = "a topic to publish on has no +, # or control characters and does not begin with $"
    if problem is None and not own and value.partition("/")[0] == OWN:
        problem = f"topics below {OWN}/ are the hub's own"
    if problem is not None:
        raise InvalidRequest(f"{problem}, got {show(value)}")
    return str(value)


def valid_filter(value: Any) -> str:
    """Return a topic filter.

    Raises:
        Invalid: It is none.
    """
    text = str(string(value))
    if (problem := problem_of(text)) is not None:
        raise Invalid(problem)
    return text


def literal_prefix(topic_filter: str) -> str:
    """Return how all topics of a filter begin, to pass over most filters quickly."""
    return re.split("[+#]", topic_filter, maxsplit=1)[0].removesuffix("/")


def covers(wide: str, narrow: str) -> bool:
    """Whether a filter takes every topic that another one takes."""
    wide_levels, narrow_levels = wide.split("/"), narrow.split("/")
    if narrow_levels[0].startswith("$") and wide_levels[0] in ("+", "#"):
        return False
    for place, level in enumerate(wide_levels):
        if level == "#":
            return True
        if place >= len(narrow_levels) or narrow_levels[place] == "#":
            return False
        if level not in ("+", narrow_levels[place]):
            return False
    return len(wide_levels) == len(narrow_levels)


class Subscriptions:
    """The subscriptions, and the fewest filters that cover them: one within another would bring messages twice."""

    def __init__(self) -> None:
        self._wanted: Counter[str] = Counter()
        self._wild: dict[str, str] = {}  # those with wildcards, and what stands before
        self._changed: dict[str, bool] = {}  # and whether its retained messages are to come again
        self.active: set[str] = set()
        """Filters that are subscribed."""
        self._active_wild: dict[str, str] = {}
        self._deliveries: dict[str, int] = {}

    def add(self, topic_filter: str) -> None:
        """Count one more user of a filter."""
        self._wanted[topic_filter] += 1
        if is_wild(topic_filter):
            self._wild[topic_filter] = literal_prefix(topic_filter)
        self._changed[topic_filter] = True

    def discard(self, topic_filter: str) -> None:
        """Want a filter once less."""
        self._wanted[topic_filter] -= 1
        if self._wanted[topic_filter] <= 0:
            del self._wanted[topic_filter]
            self._wild.pop(topic_filter, None)
            self._changed[topic_filter] = False

    def is_wanted(self, topic_filter: str) -> bool:
        """Whether somebody wants a filter."""
        return topic_filter in self._wanted

    def begin_again(self) -> list[str]:
        """Subscribe everything with a new connection; return the filters of the last one that are no longer wanted."""
        stale = [each for each in self.active if each not in self._wanted]
        self.active.clear()
        self._active_wild.clear()
        self._changed = dict.fromkeys(self._wanted, False)
        return stale

    def changes(self, limit: int) -> tuple[list[str], list[str], list[str]]:
        """Return the filters to subscribe, to unsubscribe, and those within others that are to be requested once.

        Args:
            limit: How many wishes are handled; the rest is for the next call.
        """
        subscribe: dict[str, None] = {}
        unsubscribe: dict[str, None] = {}
        again: dict[str, None] = {}
        for topic_filter in list(self._changed)[:limit]:
            asked = self._changed.pop(topic_filter)
            if topic_filter not in self._wanted:
                if topic_filter in self.active:
                    unsubscribe[topic_filter] = None
                    if is_wild(topic_filter):  # what it brought along has to be subscribed by itself
                        self._changed.update(dict.fromkeys(self._within(topic_filter, self._wanted), False))
            elif self._is_within(topic_filter) or topic_filter in self.active:
                if asked:
                    again[topic_filter] = None
            else:
                subscribe[topic_filter] = None
                if is_wild(topic_filter):
                    unsubscribe.update(dict.fromkeys(self._within(topic_filter, self.active)))
        self.active = (self.active | subscribe.keys()) - unsubscribe.keys()
        self._active_wild = {each: literal_prefix(each) for each in self.active if is_wild(each)}
        self._deliveries.clear()
        return list(subscribe), list(unsubscribe), list(again)

    def deliveries(self, topic: str) -> int:
        """Return how many of the subscribed filters take a topic: so often some brokers deliver its messages."""
        found = self._deliveries.get(topic)
        if found is None:
            if len(self._deliveries) >= REMEMBERED_TOPICS:
                self._deliveries.clear()
            found = (topic in self.active) + sum(
                topic.startswith(begins) and fits(each, topic) for each, begins in self._active_wild.items()
            )
            self._deliveries[topic] = found
        return found

    @property
    def pending(self) -> bool:
        """Whether there are changes."""
        return bool(self._changed)

    def _is_within(self, topic_filter: str) -> bool:
        return any(
            topic_filter.startswith(begins) and each != topic_filter and covers(each, topic_filter)
            for each, begins in self._wild.items()
        )

    def _within(self, wide: str, filters: Iterable[str]) -> list[str]:
        return [each for each in filters if each != wide and covers(wide, each)]
