"""The pause between two messages of one answer, as if somebody were typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hub.core.schema import All, AnyOf, In, Invalid, Optional, Range, Schema, integer

LONGEST_DELAY_MS = 60_000


class HumanDelay(Struct, frozen=True):
    """The pause between two blocks."""

    min_ms: int = 0
    max_ms: int = 0

    def delay_ms(self, chance: float) -> int:
        """Return a pause in milliseconds; `chance` is from 0 to 1."""
        return int(self.min_ms + (self.max_ms - self.min_ms) * chance)


NATURAL_DELAY = HumanDelay(800, 2_500)


def in_order(least: str, most: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a check that `value[least]` of a mapping is not more than `value[most]`."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        if value[least] > value[most]:
            raise Invalid(
                f"{value[least]} is more than {most}, which is {value[most]}; lower it, or raise {most}", [least]
            )
        return value

    return check


_DELAY_MS = All(integer, Range(min=0, max=LONGEST_DELAY_MS))
HUMAN_DELAY_SCHEMA = AnyOf(
    In(["off", "natural"]),
    All(
        Schema(
            {
                Optional("min_ms", default=NATURAL_DELAY.min_ms, description="The shortest pause."): _DELAY_MS,
                Optional("max_ms", default=NATURAL_DELAY.max_ms, description="The longest pause."): _DELAY_MS,
            }
        ),
        in_order("min_ms", "max_ms"),
    ),
)


def human_delay(stated: Any) -> HumanDelay:
    """Return the settings of a validated `human_delay:`."""
    if isinstance(stated, str):
        return NATURAL_DELAY if stated == "natural" else HumanDelay()
    return HumanDelay(**stated)
