"""Operators of templates: comparisons, and the size of a result before it is calculated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from hub.template.work import Work

COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def check_product(work: Work, left: Any, right: Any) -> None:
    """Count the size of `left * right`; raises `BoundReached` when it is too large."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple) and isinstance(other, int):
            if isinstance(one, str | bytes):
                work.room_for(len(one) * max(0, other))
            else:
                work.items(work.weigh(one) * max(0, other))
            return
    if isinstance(left, int) and isinstance(right, int):
        work.number(left.bit_length() + right.bit_length())


def check_power(work: Work, left: Any, right: Any) -> None:
    """Count the size of `left ** right`; raises `BoundReached` when it is too large."""
    if isinstance(left, int) and isinstance(right, int) and right > 1:
        work.number(left.bit_length() * right)
