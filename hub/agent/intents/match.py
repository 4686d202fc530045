"""Matches messages with standing intents by words, over an index that scales to thousands. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hub.core.errors import InvalidRequest
from hub.core.lazy_pattern import LazyPattern
from hub.memory.words import query_words, words_of

MESSAGE_LIMIT = 4_000
"""The number of characters of a message that are searched."""
TOPICS_LIMIT = 12
TOPIC_LIMIT = 200
WORDS_LIMIT = 12

_BETWEEN = LazyPattern(r"\s*[|,;，、；\n]\s*|\s+or\s+|(?:或者|或)", re.IGNORECASE)


def split_topics(text: str) -> tuple[str, ...]:
    """Return the alternatives that a person wrote as one text: `boiler, heating | 锅炉`.

    Raises:
        InvalidRequest: One names nothing or is too long, or there are too many.
    """
    return clean_topics([each for each in _BETWEEN.split(text.strip()) if each])


def clean_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """Return topics stripped of surrounding space, without duplicates.

    Raises:
        InvalidRequest: There is no topic, or too many; or one is too long or has no usable word.
    """
    found = tuple(dict.fromkeys(" ".join(each.split()) for each in topics))
    if not found:
        raise InvalidRequest("topics: expected at least one word or phrase that a message may contain")
    if len(found) > TOPICS_LIMIT:
        raise InvalidRequest(f"topics: expected at most {TOPICS_LIMIT}, got {len(found)}")
    for topic in found:
        words = topic_words(topic)
        if len(topic) > TOPIC_LIMIT or len(words) > WORDS_LIMIT:
            raise InvalidRequest(f"the topic {topic[:60]!r} is too long: a few words of the message will do")
        if not words:
            raise InvalidRequest(f"the topic {topic[:60]!r} has no word that can be recognised")
    return found


def topic_words(topic: str) -> frozenset[str]:
    """Return the words that a message must contain."""
    return frozenset(query_words(topic))


class IntentIndex:
    """An index of topics: each is filed under the one of its words that has the fewest entries."""

    def __init__(self) -> None:
        self._filed: dict[str, list[tuple[frozenset[str], str]]] = {}
        self._of: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def add(self, id: str, topics: Sequence[str]) -> None:
        """File an intent."""
        self.remove(id)
        keys = []
        for topic in topics:
            words = topic_words(topic)
            if not words:
                continue
            key = min(words, key=lambda word: (len(self._filed.get(word, ())), -len(word), word))
            self._filed.setdefault(key, []).append((words, id))
            keys.append(key)
        if keys:
            self._of[id] = keys

    def remove(self, id: str) -> None:
        """Remove an intent; an unknown id is ignored."""
        for key in set(self._of.pop(id, ())):
            left = [filed for filed in self._filed[key] if filed[1] != id]
            if left:
                self._filed[key] = left
            else:
                del self._filed[key]

    def matching_ids(self, text: str) -> list[str]:
        """Return the ids of the intents that a text touches (all words of one topic), in the order of the text."""
        if not self._filed:
            return []
        words = dict.fromkeys(words_of(text[:MESSAGE_LIMIT]))
        found: dict[str, None] = {}
        for word in words:
            for needed, id in self._filed.get(word, ()):
                if id not in found and needed <= words.keys():
                    found[id] = None
        return list(found)
