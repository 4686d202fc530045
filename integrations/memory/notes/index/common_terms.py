"""Words that are too common to distinguish passages, learnt from a sample of the index."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SAMPLE = 1_000
LEAST_SHARE = 0.01
"""What fewer passages of the sample hold is not common."""
ROWS = 4_000
"""About as many passages are scored in full; each costs microseconds for each word."""
_SATURATION = 1.2


@dataclass(frozen=True, slots=True)
class CommonTerms:
    """Words by the share of passages that hold them.

    Attributes:
        shares: The shares of words that are common, from 0 to 1.
        count: Number of passages they were learnt for.
    """

    shares: Mapping[str, float]
    count: int

    @classmethod
    def learnt(cls, passages: Iterable[Iterable[str]], count: int) -> CommonTerms:
        """Learn from a sample: the words of each passage in it."""
        held: Counter[str] = Counter()
        sampled = 0
        for words in passages:
            held.update(set(words))
            sampled += 1
        least = max(2.0, LEAST_SHARE * sampled)
        return cls({word: times / sampled for word, times in held.items() if times >= least}, count)

    def split(self, terms: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the words to search for, and those that only affect the order."""
        rarest_first = sorted(terms, key=lambda term: self.shares.get(term, 0.0))
        sought: list[str] = []
        rows = 0.0
        for term in rarest_first:
            rows += self.shares.get(term, 0.0) * self.count
            if sought and rows > ROWS:
                break
            sought.append(term)
        return sought, rarest_first[len(sought) :]

    def weight(self, term: str, times: float) -> float:
        """Return the score of a common word with this frequency in a passage."""
        share = self.shares.get(term, LEAST_SHARE)
        rarity = math.log((1 - share + 1e-3) / (share + 1e-3))
        return max(0.0, rarity) * times * (_SATURATION + 1) / (times + _SATURATION)
