"""What the scripted embedding server does: vectors from words, faults as queued, counts of what it was asked."""

from __future__ import annotations

import base64
import functools
import re
import struct
import threading
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
SCALE = 1.7
"""Its vectors are not of length one, so that it is seen whether somebody makes them so."""
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")

_FOR_VECTORS = re.compile(r"/embeddings$|:batchEmbedContents$")

Fault = dict[str, Any]
"""One answer that goes wrong. `status` with `message`, `code`, `headers`; or `kind`: `nan`, `infinity`, `zero`, `short`
(a vector of another length), `fewer`, `more`, `twice` (an index), `shuffled`, `html`, `null`, `disconnect`, `redirect`,
`flood` (an answer without end); `delay_s` before either; `match`: only when a text holds this."""


@dataclass(slots=True)
class Manner:
    """How the server is: OpenAI by default, otherwise as its imitators are."""

    dimensions: int = DIMENSIONS
    key: str | None = None
    models: list[str] = field(default_factory=lambda: ["text-embedding-3-small"])
    any_model: bool = True
    delay_s: float = 0.0
    together: int = 0
    """The first requests wait until so many are under way."""
    inputs_limit: int = 2_048
    tokens_limit: int = 300_000
    text_tokens_limit: int = 8_192
    text_status: int = 400
    base64: str = "yes"
    """`yes`, `ignored` (lists come), or `refused`."""
    sizes: str = "yes"
    """Whether `dimensions` are: `yes`, `ignored`, `refused`."""
    nested: str = "no"
    """`no`, `once` (each vector in a list), `tokens` (a vector for each token)."""
    usage: bool = True
    v1: bool = True
    """Whether OpenAI's paths are below `/v1`; else they are at the root only."""


@dataclass(slots=True)
class Asked:
    """One request: where, with which headers and body, how many texts."""

    path: str
    headers: dict[str, str]
    body: Any
    texts: int = 0


class EmbeddingScript:
    """State that HTTP handlers and tests share; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.manner = Manner()
        self._faults: list[Fault] = []
        self._asked: list[Asked] = []
        self.busiest = 0
        self._under_way = 0

    def queue(self, *faults: Fault) -> None:
        """Let the next requests for vectors go wrong, one after the other; `times` repeats one."""
        with self._lock:
            for fault in faults:
                self._faults += [fault] * int(fault.get("times", 1))

    def set(self, **manner: Any) -> None:
        """Change how the server is."""
        with self._lock:
            self.manner = Manner(**{**asdict(self.manner), **manner})

    def reset(self) -> None:
        """Forget faults, requests and manner."""
        with self._lock:
            self.manner = Manner()
            self._faults.clear()
            self._asked.clear()
            self.busiest = 0

    def asked(self, part: str | None = None) -> list[Asked]:
        """Return the requests whose method and path have this in them, those for vectors without it, in order."""
        with self._lock:
            return [
                each
                for each in self._asked
                if (part in each.path if part is not None else _FOR_VECTORS.search(each.path))
            ]

    @property
    def requests(self) -> int:
        """Requests for vectors."""
        return len(self.asked())

    @property
    def texts(self) -> int:
        """Texts in them."""
        return sum(each.texts for each in self.asked())

    def record(self, asked: Asked) -> None:
        """Keep a request."""
        with self._lock:
            self._asked.append(asked)

    def begin(self) -> None:
        """A request for vectors begins."""
        with self._lock:
            self._under_way += 1
            self.busiest = max(self.busiest, self._under_way)

    def end(self) -> None:
        """It ended."""
        with self._lock:
            self._under_way -= 1

    def next_fault(self, texts: list[str]) -> Fault | None:
        """Take the next fault that is for these texts."""
        with self._lock:
            for place, fault in enumerate(self._faults):
                if "match" not in fault or any(fault["match"] in text for text in texts):
                    return fault if fault.get("always") else self._faults.pop(place)
        return None


def vector_of(text: str, dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    """Return the vector of a text: words hashed into places, so that texts that share words are alike."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[0] = 0.01  # a text without words has a vector too
    for word, count in Counter(_WORD.findall(text.lower())).items():
        for place, sign in _places(word, dimensions):
            vector[place] += sign * count**0.5
    return vector * np.float32(SCALE / np.linalg.norm(vector))


def tokens_of(text: str) -> int:
    """Return how many tokens the server counts."""
    return max(1, len(text) // 4)


def encoded(vector: NDArray[np.float32], *, as_base64: bool) -> Any:
    """Return a vector as an answer carries it."""
    if as_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector.tolist()


@functools.lru_cache(maxsize=100_000)
def _places(word: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    found = []
    for salt in range(3):
        number = zlib.crc32(struct.pack("<I", salt) + word.encode())
        found.append((number % dimensions, 1.0 if number & 0x40000000 else -1.0))
    return tuple(found)
