"""`group`, and the groups of lights, switches, covers …: several entities as one.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import (
    AnyOf,
    Described,
    Optional,
    Required,
    boolean,
    entity_id,
)
from hub.core.states import EntityState
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings

MEMBERS_LIMIT = 500
_NO_STATE = frozenset({"unknown", "unavailable"})
_ON_STATES: Mapping[str, tuple[frozenset[str], str, str]] = {
    **dict.fromkeys(("person", "device_tracker"), (frozenset({"home"}), "home", "not_home")),
    "cover": (frozenset({"open"}), "open", "closed"),
    "lock": (frozenset({"locking", "open", "opening", "unlocked", "unlocking"}), "unlocked", "locked"),
    "plant": (frozenset({"problem"}), "problem", "ok"),
    "sun": (frozenset({"above_horizon"}), "above_horizon", "below_horizon"),
    "vacuum": (frozenset({"on", "cleaning", "returning", "error"}), "on", "off"),
    "media_player": (frozenset({"on", "paused", "playing", "idle", "buffering"}), "on", "off"),
    "climate": (frozenset({"on", "auto", "cool", "dry", "fan_only", "heat", "heat_cool"}), "on", "off"),
    "alarm_control_panel": (
        frozenset(
            {"on", "armed_away", "armed_custom_bypass", "armed_home", "armed_night", "armed_vacation", "triggered"}
        ),
        "on",
        "off",
    ),
    "water_heater": (
        frozenset({"on", "eco", "electric", "performance", "high_demand", "heat_pump", "gas"}),
        "on",
        "off",
    ),
}
"""By domain: what counts as on, and how a group of that domain alone says on and off."""
_OWN_STATE = frozenset({"air_quality", "sensor", "weather", "zone"})
"""Domains whose states are neither on nor off."""
_ON_OFF = (frozenset({"on"}), "on", "off")
_PAIRS = tuple(dict.fromkeys([("on", "off"), *((yes, no) for _, yes, no in _ON_STATES.values())]))


def _members(value: Any) -> list[str]:
    """Accept entity ids in a list, or in a text with commas."""
    found = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    return list(dict.fromkeys(entity_id(str(each).strip().lower()) for each in found if str(each).strip()))


ENTITIES = Described(
    _members, {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "entities"
)


def _known(settings: Settings, home: HelperHome) -> list[EntityState]:
    return [state for each in settings["entities"] if (state := home.state(each)) is not None]


# --- group ---


def _group(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    """Return the state of a group: on while one is on, or while all are; of one kind, in the words of that."""
    sides: set[tuple[str, str]] = set()
    votes: list[bool] = []
    for state in _known(settings, home):
        domain = state.entity_id.partition(".")[0]
        if domain in _OWN_STATE:
            continue
        on, yes, no = _ON_STATES.get(domain, _ON_OFF)
        if domain == "group":
            yes, no = next((pair for pair in _PAIRS if state.state in pair), _PAIRS[0])
            on = frozenset({yes})
        sides.add((yes, no))
        votes.append(state.state in on)
    if not votes:
        return Held()
    yes, no = sides.pop() if len(sides) == 1 else _PAIRS[0]
    return Held(yes if (all(votes) if settings["all"] else any(votes)) else no)


def _short(value: Any) -> Any:
    return value if isinstance(value, dict) else {"entities": [] if value is None else value}


GROUP = HelperKind(
    "group",
    "Several entities as one, by name",
    {
        Required("entities", description="Its members"): AnyOf(None, ENTITIES),
        Optional("all", default=False, description="Whether it is on only while all are"): boolean,
    },
    _group,
    {},
    lambda settings: {**settings, "entities": settings["entities"] or []},
    lambda settings: {
        "entity_id": list(settings["entities"]),
        "order": settings["order"],
        **({"auto": True} if "made" in settings else {}),
    },
    _group,
    lambda settings: settings["entities"],
    short=_short,
    name_of=str,
    is_kept=False,
    has_editable=False,
)
