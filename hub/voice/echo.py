"""What a device without echo cancellation hears of the hub itself."""

from __future__ import annotations

import re
from collections import deque
from difflib import SequenceMatcher

from hub.voice.segmenter import LOUDER, QUIETEST, loudest
from hub.voice.turn import is_stop

SHARE = 0.6
"""So many of the words that are heard of an echo are those that are said."""
SAID_KEPT = 3
"""Texts of which an echo may be heard."""
FORGETS = 0.8
"""So much of the loudness of an echo is still expected with the next answer: it may have been turned down."""
_WORDS = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")


class Echo:
    """What may be heard at a device of what is spoken there."""

    def __init__(self) -> None:
        self._said: deque[str] = deque(maxlen=SAID_KEPT)
        self._power = 0.0

    @property
    def floor(self) -> float:
        """The mean power below which nobody else is heard while it speaks."""
        return max(QUIETEST, LOUDER * self._power)

    def begin(self, text: str) -> None:
        """Expect the words of a text that is spoken now."""
        self._said.append(text)

    def end(self) -> None:
        """Expect the next answer to be heard less."""
        self._power *= FORGETS

    def mistaken(self, sound: bytes) -> None:
        """Expect to be heard as loudly as in a sound that was taken for speech in vain."""
        self._power = max(self._power, loudest(sound))

    def has(self, text: str) -> bool:
        """Whether a text that was heard is the device's own."""
        return not is_stop(text) and is_echo(text, " ".join(self._said))


def is_echo(heard: str, said: str) -> bool:
    """Whether what was heard is, as far as it can be understood, what is being said there."""
    words, ours = _words_of(heard), _words_of(said)
    same = SequenceMatcher(None, words, ours, autojunk=False).get_matching_blocks()
    return bool(words) and sum(each.size for each in same) >= SHARE * len(words)


def _words_of(text: str) -> list[str]:
    return _WORDS.findall(text.casefold().replace("'", "").replace("’", ""))
