"""`scene`: states of several entities, brought about together.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, Described, Invalid, Optional, Range, Required, entity_id, number, show, string
from hub.entities.helpers.contract import Held, HeldCall, HelperHome, HelperKind, HelperService, Settings

MEMBERS_LIMIT = 500


def _wanted(value: Any) -> dict[str, dict[str, Any]]:
    """Accept entity ids, each with a state, or with a mapping of its state and attributes."""
    if not isinstance(value, dict) or len(value) > MEMBERS_LIMIT:
        raise Invalid(phrase("expected entities and their states, got {value}", value=show(value)))
    found = {}
    for id, given in value.items():
        whole = given if isinstance(given, dict) else {"state": given}
        if not isinstance(whole.get("state"), str | bool | int | float):
            raise Invalid(
                phrase("expected a state, or a mapping with a state, got {value}", value=show(given)), path=[id]
            )
        said = whole["state"]
        state = ("on" if said else "off") if isinstance(said, bool) else string(said)
        found[entity_id(str(id).lower())] = {**whole, "state": state}
    return found


STATES = Described(_wanted, {"type": "object"}, "entities and their states")


def _scene(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    return Held(kept.state if kept is not None else None)


def _turn_on(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    stamp = datetime.fromtimestamp(home.now, UTC).isoformat()
    return Held(stamp, calls=(HeldCall("scene", "apply", {"entities": settings["entities"], **data}),))


SCENE = HelperKind(
    "scene",
    "States of several entities, brought about together",
    {
        Optional("id", description="What the editor of Home Assistant calls it"): string,
        Required("entities", description="The state of each entity, with attributes where it has some"): STATES,
        Optional("metadata", description="Of Home Assistant's editor; not used"): object,
    },
    _scene,
    {"turn_on": HelperService(_turn_on, {Optional("transition"): All(number, Range(min=0, max=86_400))})},
    shown=lambda settings: {
        "entity_id": list(settings["entities"]),
        **({"id": settings["id"]} if "id" in settings else {}),
    },
    name_of=str,
    is_listed=True,
    has_editable=False,
)
