"""The calls of an account, and how long further ones may last: minutes and money of a day. Pure but for the storing."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

DAY_S = 86_400
KEPT = 1_000
"""Calls that are remembered: for the limits of a day, and so that none is answered twice."""


class CallLimits(Struct, frozen=True):
    """The limits of an account; a day is one of UTC.

    Attributes:
        price_per_minute, cost_per_day: In one currency; None when they do not matter.
    """

    minutes_per_call: int
    minutes_per_day: int
    price_per_minute: float | None = None
    cost_per_day: float | None = None


class CallRecord(Struct, frozen=True, omit_defaults=True):
    """A call, as it is kept."""

    number: str
    at: int
    outgoing: bool = False
    seconds: int = 0


def seconds_left(limits: CallLimits, records: Iterable[CallRecord], now: float) -> int:
    """Return how long a call may last that begins now; each begun minute of earlier ones is paid."""
    minutes = sum(-(-each.seconds // 60) for each in records if each.at // DAY_S == now // DAY_S)
    left = limits.minutes_per_day - minutes
    if limits.price_per_minute and limits.cost_per_day is not None:
        left = min(left, int(limits.cost_per_day / limits.price_per_minute + 1e-9) - minutes)
    return 60 * max(0, min(left, limits.minutes_per_call))
