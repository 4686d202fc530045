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
    """A call, as it is kept.

    Attributes:
        price: What Twilio charged for it, in `currency`; None until Twilio has said so.
    """

    number: str
    at: int
    outgoing: bool = False
    seconds: int = 0
    price: float | None = None
    currency: str = ""


def seconds_left(limits: CallLimits, records: Iterable[CallRecord], now: float) -> int:
    """Return how long a call may last that begins now; each begun minute of earlier ones is paid."""
    minutes = sum(-(-each.seconds // 60) for each in records if each.at // DAY_S == now // DAY_S)
    left = limits.minutes_per_day - minutes
    if limits.price_per_minute and limits.cost_per_day is not None:
        left = min(left, int(limits.cost_per_day / limits.price_per_minute + 1e-9) - minutes)
    return 60 * max(0, min(left, limits.minutes_per_call))


def describe_day(records: Iterable[CallRecord], now: float) -> str:
    """Return a sentence about the calls of the day: how long they were, and what they cost as far as that is known."""
    calls = [each for each in records if each.at // DAY_S == now // DAY_S]
    minutes = sum(-(-each.seconds // 60) for each in calls)
    sums: dict[str, float] = {}
    for each in calls:
        if each.price is not None:
            sums[each.currency] = sums.get(each.currency, 0.0) + each.price
    known = sum(each.price is not None for each in calls)
    charged = " and ".join(f"{amount:.4f} {currency}" for currency, amount in sorted(sums.items())) or "nothing yet"
    unknown = f"; the price of {len(calls) - known} is not known yet" if known < len(calls) else ""
    return (
        f"Calls today: {len(calls)}, {minutes} begun minutes. Twilio charged {charged}{unknown}. Models are not in it."
    )
