"""The corpus that engines of memory are compared on: passages of a diary in two languages, and vectors in clusters.

All of it is made, the same on every machine: words follow Zipf's law as those of a language do, and a vector stands
near one of a few hundred subjects as sentence vectors do.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hub.memory.engine_contract import KeywordDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSIONS = 384
SUBJECTS = 300
SPREAD = 0.7
AREAS = ("private", "shared", "person-ada", "person-ben")
AREA_WEIGHTS = (85, 5, 5, 5)
SEEN = ("private", "shared")
ENGLISH_WORDS, CHINESE_WORDS = 12_000, 6_000
WORDS_OF_A_PASSAGE, CHINESE_SHARE = 220, 0.25


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages and their vectors, row by row, and what is asked: texts, and a vector each."""

    documents: list[KeywordDocument]
    vectors: NDArray[np.float32]
    queries: list[str]
    query_vectors: NDArray[np.float32]

    def vector_rows(self) -> list[tuple[int, str, NDArray[np.float32]]]:
        """Return what an engine for vectors is given."""
        return [(each.id, each.area, self.vectors[row]) for row, each in enumerate(self.documents)]


def corpus(count: int, queries: int, dimensions: int = DIMENSIONS) -> Corpus:
    """Return `count` passages of about 400 tokens and as many queries as asked for."""
    rng, numbers = random.Random(4), np.random.default_rng(4)
    english, chinese = _english(rng), _chinese(rng)
    english_weights, chinese_weights = (_zipf(len(words)) for words in (english, chinese))

    def said(length: int) -> str:
        if rng.random() < CHINESE_SHARE:
            return "".join(rng.choices(chinese, cum_weights=chinese_weights, k=length))
        return " ".join(rng.choices(english, cum_weights=english_weights, k=length))

    documents = [
        KeywordDocument(
            id=number + 1,
            area=rng.choices(AREAS, AREA_WEIGHTS)[0],
            title=f"20{number // 360 % 30:02}-{number // 30 % 12 + 1:02}-{number % 28 + 1:02}",
            headings=said(3),
            text=said(WORDS_OF_A_PASSAGE),
            marks=(f"@20{number // 360 % 30:02}-{number // 30 % 12 + 1:02}-{number % 28 + 1:02}",),
        )
        for number in range(count)
    ]
    subjects = numbers.normal(size=(SUBJECTS, dimensions)).astype(np.float32)
    return Corpus(
        documents=documents,
        vectors=_near(subjects, numbers, count),
        queries=[said(rng.randint(2, 7)) for _ in range(queries)],
        query_vectors=_near(subjects, numbers, queries),
    )


def _near(subjects: NDArray[np.float32], numbers: np.random.Generator, count: int) -> NDArray[np.float32]:
    rows = subjects[numbers.integers(0, len(subjects), count)]
    rows += SPREAD * numbers.standard_normal(rows.shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _english(rng: random.Random) -> list[str]:
    syllables = [a + b for a in ("br", "st", "tr", "pl", *"bdfgklmnprstv") for b in ("an", *"aeiou")]
    words = {
        "".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) + rng.choice(("", "", "s", "r", "m", "ing"))
        for _ in range(ENGLISH_WORDS * 2)
    }
    return sorted(words, key=lambda word: (len(word), word))[:ENGLISH_WORDS]


def _chinese(rng: random.Random) -> list[str]:
    characters = [chr(number) for number in rng.sample(range(0x4E00, 0x9000), 2_000)]
    usual = _zipf(len(characters))
    pairs = {"".join(rng.choices(characters, cum_weights=usual, k=2)) for _ in range(CHINESE_WORDS * 2)}
    return sorted(pairs)[:CHINESE_WORDS]


def _zipf(count: int) -> list[float]:
    return list(itertools.accumulate(1 / (rank + 3) for rank in range(count)))
