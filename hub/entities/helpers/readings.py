"""Numbers that other entities say, for the sensors that are made of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from hub.core.schema import entity_id
from hub.core.states import EntityState

NOTHING = ("unknown", "unavailable")
"""States that say nothing."""
MEASUREMENT = {"state_class": "measurement"}


def reading(state: EntityState | None) -> float | None:
    """Return the number that an entity says, or None."""
    if state is None or state.state in NOTHING:
        return None
    try:
        value = float(state.state)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def unit_of(state: EntityState | None) -> str | None:
    """Return the unit of what an entity says."""
    unit = state.attributes.get("unit_of_measurement") if state is not None else None
    return None if unit is None else str(unit)


def one_unit(states: Iterable[EntityState | None]) -> str | None:
    """Return the unit that all of those say something in, `ERR` where they differ."""
    units = {unit_of(each) for each in states if each is not None and each.state not in NOTHING}
    return None if not units else units.pop() if len(units) == 1 else "ERR"


def source(value: Any) -> str:
    """Accept the id of the entity that is followed."""
    return str(entity_id(str(value).strip().lower()))
