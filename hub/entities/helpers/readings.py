"""Numbers that other entities say, for the sensors that are made of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from hub.core.schema import Described, duration, entity_id
from hub.core.states import EntityState

NOTHING = ("unknown", "unavailable")
"""States that say nothing."""
MEASUREMENT = {"state_class": "measurement"}
ENERGY_UNITS = frozenset(
    {"mWh", "TWh", *(f"{prefix}{unit}" for unit in ("Wh", "J", "cal") for prefix in ("", "k", "M", "G"))}
)


def reading(said: EntityState | str | None) -> float | None:
    """Return the number that an entity says, or None."""
    value = exact(said.state if isinstance(said, EntityState) else said)
    return None if value is None else float(value)


def exact(text: Any) -> Decimal | None:
    """Return the number that a text is, as it is written, or None."""
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        return None
    return value if value.is_finite() and math.isfinite(float(value)) else None


def unit_of(state: EntityState | None) -> str | None:
    """Return the unit of what an entity says."""
    unit = state.attributes.get("unit_of_measurement") if state is not None else None
    return None if unit is None else str(unit)


def one_unit(states: Iterable[EntityState | None]) -> str | None:
    """Return the unit that all of those say something in, `ERR` where they differ."""
    units = {unit_of(each) for each in states if each is not None and each.state not in NOTHING}
    return None if not units else units.pop() if len(units) == 1 else "ERR"


def _source(value: Any) -> str:
    return str(entity_id(str(value).strip().lower()))


def _span(value: Any) -> float:
    if value in (0, "0", "00:00", "00:00:00"):
        return 0.0
    return float(duration(value))


SOURCE = Described(_source, {"type": "string"}, "entity id")
"""The id of the entity that is followed."""
span = Described(_span, {"anyOf": [{"type": ["number", "string"]}, {"type": "object"}]}, "duration")
"""A duration, which may be 0; seconds."""
