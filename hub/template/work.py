"""The work of one rendering: its limits, its cost so far, and its dependencies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import date, time as time_of_day, timedelta, tzinfo
from itertools import chain
from typing import Any

from msgspec import Struct

from hub.core.states import EntityState
from hub.template.contract import RenderInfo
from hub.template.deferred import Answers

CHECK_STEPS = 256
"""The processor time is looked at after so many steps."""
CHARS_PER_STEP = 64
"""So many characters of a text count like one value."""
_WEIGHED_AT_ONCE = 1_024
_RANGE_SHARE = 8


class TemplateLimits(Struct, frozen=True):
    """The bounds of templates.

    Attributes:
        source_chars: Length of a template.
        source_parts: Values, names, operations and statements in a template.
        output_chars: Length of the output of one rendering.
        text_chars: Length of any intermediate text.
        total_chars: Length of all texts made by one rendering together.
        steps: Turns of loops, calls, filtered items and values copied in one rendering.
        value_weight: Values in one list or mapping, counted to the bottom.
        number_bits: Size of a whole number.
        call_depth: Macros inside each other.
        cpu_s: Processor time of one rendering, in seconds.
    """

    source_chars: int = 16_384
    source_parts: int = 2_000
    output_chars: int = 262_144
    text_chars: int = 262_144
    total_chars: int = 2_000_000
    steps: int = 200_000
    value_weight: int = 50_000
    number_bits: int = 4_096
    call_depth: int = 40
    cpu_s: float = 0.04


class BoundReached(Exception):
    """A rendering exceeds a limit; the message says which."""


class NotPlainData(Exception):
    """A value is neither plain data nor one of the objects that templates may see."""


class Exposed:
    """An object that templates may see: `read` is its only access, and it counts like a number."""

    __slots__ = ()

    def read(self, name: str) -> Any:
        """Return the attribute, or raise AttributeError."""
        raise AttributeError(name)


ATOMS: frozenset[type] = frozenset({int, float, bool, type(None), complex})
_PLAIN = (int, float, date, time_of_day, timedelta, tzinfo, complex, Exposed)


class Work:
    """Counts what one rendering costs and raises `BoundReached` where it goes too far.

    Args:
        limits: The bounds.
        opaque: Further types that weigh one and are never looked into.
    """

    __slots__ = (
        *("all_states", "answers", "chars", "depth", "domains", "entities", "limits", "opaque", "outside"),
        *("quote", "seen_chars", "seen_states", "steps", "uses_time", "_check_at", "_deadline"),
    )

    def __init__(self, limits: TemplateLimits, opaque: tuple[type, ...] = ()) -> None:
        self.limits = limits
        self.opaque = opaque
        self.steps = 0
        self.chars = 0
        self.depth = 0
        self.seen_chars = 0
        self.seen_states = False
        self.entities: set[str] = set()
        self.domains: set[str] = set()
        self.all_states = False
        self.uses_time = False
        self.outside = False
        self.answers: Answers | None = None
        self.quote: Callable[[str], str] | None = None
        self._check_at = CHECK_STEPS
        self._deadline = time.thread_time() + limits.cpu_s

    def step(self, count: int = 1) -> None:
        """Count work of about `count` simple operations."""
        self.steps += count
        if self.steps >= self._check_at:
            self.check()

    def check(self) -> None:
        """Check the limits now.

        Raises:
            BoundReached: Too many steps, or too much processor time.
        """
        if self.steps > self.limits.steps:
            raise BoundReached(f"it takes more than {self.limits.steps} steps: loop over less")
        if time.thread_time() > self._deadline:
            raise BoundReached(f"it takes more than {self.limits.cpu_s:g} s of work: loop over less")
        self._check_at = self.steps + CHECK_STEPS

    def left_s(self) -> float:
        """Return the remaining processor time; never zero, which would mean no limit."""
        return max(0.001, self._deadline - time.thread_time())

    def text(self, value: str) -> str:
        """Count a text that was made, and return it."""
        length = len(value)
        self.room_for(length)
        self.chars += length
        if self.chars > self.limits.total_chars:
            raise BoundReached(f"its texts have more than {self.limits.total_chars} characters together")
        if length > CHARS_PER_STEP:
            self.step(length // CHARS_PER_STEP)
        return value

    def room_for(self, chars: int) -> None:
        """Refuse a text that would be too long, before it is made."""
        if chars > self.limits.text_chars:
            raise BoundReached(f"a text would have more than {self.limits.text_chars} characters")

    def number(self, bits: float) -> None:
        """Refuse a whole number that would be too large, before it is made."""
        if bits > self.limits.number_bits:
            raise BoundReached(f"a number would have more than {self.limits.number_bits} bits")

    def items(self, count: int) -> None:
        """Refuse a list that would be too long, before it is made."""
        if count > self.limits.value_weight:
            raise BoundReached(f"a list would have more than {self.limits.value_weight} values")

    def weigh(self, value: Any) -> int:
        """Count a value recursively; shared parts count each time, as in printing.

        Afterwards `seen_chars` tells how many characters its texts have, `seen_states` whether it holds raw states.

        Raises:
            BoundReached: There is more in it than a value may have.
            NotPlainData: Something in it is not for templates.
        """
        weight = chars = counted = 0
        self.seen_states = False
        most = self.limits.value_weight
        todo = [iter((value,))]
        while todo:
            for item in todo.pop():
                weight += 1
                if weight - counted >= _WEIGHED_AT_ONCE:
                    self.step(weight - counted)
                    counted = weight
                kind = type(item)
                if kind in ATOMS:
                    continue
                if kind is str or kind is bytes:
                    chars += len(item)
                    weight += len(item) // CHARS_PER_STEP
                elif isinstance(item, Mapping):
                    todo.append(chain(item.keys(), item.values()))
                elif isinstance(item, list | tuple | set | frozenset):
                    todo.append(iter(item))
                elif kind is range:
                    weight += len(item) // _RANGE_SHARE
                elif isinstance(item, str | bytes):
                    weight += len(item) // CHARS_PER_STEP
                    chars += len(item)
                elif kind is EntityState:
                    self.seen_states = True
                elif not isinstance(item, _PLAIN) and not isinstance(item, self.opaque):
                    raise NotPlainData(f"a value of type {kind.__name__} is not plain data")
                if weight > most:
                    break
            if weight > most:
                raise BoundReached(f"a value has more than {most} values in it")
        self.seen_chars = chars
        self.step(weight - counted)
        return weight

    def info(self) -> RenderInfo:
        """The recorded dependencies."""
        return RenderInfo(
            frozenset(self.entities), frozenset(self.domains), self.all_states, self.uses_time, self.outside
        )
