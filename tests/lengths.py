"""How much the tests try: a little in every run, and more in `script/test --long`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

LONG = os.environ.get("HOMARUS_TESTS") == "long"
Case = TypeVar("Case")
EXAMPLES = 200 if LONG else 20
"""Random examples of a test that names no number."""


def examples(long: int) -> int:
    """Return the number of random examples of a test that tries `long` of them in a long run."""
    return long if LONG else max(10, long // 8)


def rounds(long: int, short: int) -> int:
    """Return how often a test repeats a fault."""
    return long if LONG else short


def in_long_runs(*cases: Case) -> tuple[Case, ...]:
    """Return the cases that only a long run tries."""
    return cases if LONG else ()


def some(cases: Iterable[Case], turn: int = 0, one_of: int = 4) -> list[Case]:
    """Return all cases in a long run, and in every other one in so many; each turn begins with another one."""
    return list(cases)[turn % one_of :: one_of] if not LONG else list(cases)
