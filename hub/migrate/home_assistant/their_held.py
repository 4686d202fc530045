"""What the helpers of a Home Assistant hold, as it was written when that last stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from hub.core.slugs import slugify
from hub.entities.helpers.contract import Held
from hub.entities.helpers.home_helpers import VERSION, Kept
from hub.entities.helpers.table import HELPERS
from hub.migrate.home_assistant.their_files import TheirHome
from hub.migrate.home_assistant.their_platforms import METER

_FILE = "core.restore_state"
_NOTHING = ("unknown", "unavailable", "")
_TIMER = ("duration", "remaining", "finishes_at")


class TheirHeld:
    """Collects what the helpers that come along hold.

    Args:
        theirs: Where they are.
    """

    def __init__(self, theirs: TheirHome) -> None:
        self._stored = {
            str(state.get("entity_id")): (state, each.get("extra_data") or {})
            for each in theirs.stored_items(_FILE, "")
            if isinstance(state := each.get("state"), Mapping)
        }
        self._found: dict[str, Kept] = {}

    def take(self, section: str, key: str, value: Mapping[str, Any]) -> None:
        """Take along what a helper of a section holds."""
        if section == METER:
            self._found |= dict(self._meters(key, value))
        elif (kind := HELPERS.get(section)) is not None and kind.is_kept:
            self._one(f"{section}.{key}", f"{section}.{key}")
        elif value.get("platform") == "integration":
            name = str(value.get("name") or f"{value.get('source')} integral")
            entity = str(value.get("default_entity_id") or f"{section}.{slugify(name)}")
            extra = self._stored.get(entity, ({}, {}))[1]
            if (total := _number(extra.get("native_value"))) is not None:
                unit = {"unit_of_measurement": extra.get("native_unit_of_measurement")}
                id = f"integration.{section}.{value.get('unique_id') or slugify(name)}"
                self._found[id] = Kept(Held(total, unit, memory={"total": total}))

    def data(self) -> bytes | None:
        """Return the file that the helpers here read once; None where there is nothing."""
        return msgspec.json.encode({"version": VERSION, "data": self._found}) if self._found else None

    def _one(self, entity: str, id: str) -> None:
        state = self._stored.get(entity, ({}, {}))[0]
        if state.get("state", "") in _NOTHING:
            return
        given = state.get("attributes")
        attributes: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        told = {name: attributes[name] for name in _TIMER if name in attributes} if id.startswith("timer.") else {}
        ends = _timestamp(told.get("finishes_at"))
        # Words that were written into a text may be anybody's.
        held = Held(str(state["state"]), told, ends if state["state"] == "active" else None)
        self._found[id] = Kept(held, tainted=id.startswith("input_text."))

    def _meters(self, key: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Kept]]:
        tariffs = value.get("tariffs") or []
        one = str(value.get("default_entity_id") or f"sensor.{slugify(str(value.get('name') or key))}")
        ids = {slugify(f"{key} {each}"): f"sensor.{slugify(f'{key} {each}')}" for each in tariffs} or {key: one}
        for id, entity in ids.items():
            extra = self._stored.get(entity, ({}, {}))[1]
            if (counted := _number(extra.get("native_value"))) is not None:
                memory = {
                    "value": counted,
                    "period": str(extra.get("last_period") or "0"),
                    "reset": extra.get("last_reset"),
                    "valid": extra.get("last_valid_state"),
                    "unit": extra.get("native_unit_of_measurement"),
                    "collecting": extra.get("status") == "collecting",
                }
                yield f"{METER}.sensor.{id}", Kept(Held(counted, memory=memory))
        chosen = self._stored.get(f"select.{key}", ({}, {}))[0].get("state")
        if tariffs and isinstance(chosen, str):
            yield f"{METER}.select.{key}", Kept(Held(chosen))


def _number(value: Any) -> str | None:
    """Return a number as it was stored: by itself, or as a decimal with its digits."""
    found = value.get("decimal_str") if isinstance(value, Mapping) else value
    try:
        return str(found) if found is not None and float(found) == float(found) else None
    except (TypeError, ValueError):
        return None


def _timestamp(value: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None
