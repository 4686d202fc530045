"""`zone`: somebody or something with a place enters a zone, or leaves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import entity_ids
from hub.automation.definition.phrases import join_words
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.provenance import is_somebody_elses
from hub.automation.triggers.state import listen_to_states
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, In, Match, Optional, Required, string
from hub.core.states import EntityState
from hub.core.zones import is_in_zone

ENTER, LEAVE = "enter", "leave"
ZONE = All(string, Match(r"^zone\.[a-z0-9_]+$", msg=phrase("expected a zone such as zone.home")))
EVENT = In((ENTER, LEAVE))


def watch(config: Mapping[str, Any], host: TriggerHost, told: Callable[[str, str], Mapping[str, Any]]) -> Any:
    """Return a listener to changes of states that fires when one enters or leaves the zone.

    Args:
        told: Returns what is told further, from the entity id and the name of the zone.
    """
    zone_id, event = config["zone"], config["event"]

    def changed(happened: Event) -> None:
        old, new = happened.data["old_state"], happened.data["new_state"]
        zone = host.parts.states.get(zone_id)
        if zone is None:
            return
        try:
            was, now = _is_in(zone, old), _is_in(zone, new)
        except LookupError:  # its place is not known, or was not
            return
        if (now and not was) if event == ENTER else (was and not now):
            entity_id: str = happened.data["entity_id"]
            trigger = {"entity_id": entity_id, "from_state": old, "to_state": new, "zone": zone, "event": event}
            cause = happened.context
            host.fire({**trigger, **told(entity_id, zone.name)}, cause, tainted=is_somebody_elses(cause))

    return changed


def _is_in(zone: EntityState, state: EntityState | None) -> bool:
    return state is not None and is_in_zone(zone, state)


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    doing = "entering" if config["event"] == ENTER else "leaving"
    listener = watch(config, host, lambda entity, zone: {"description": f"{entity} {doing} {zone}"})
    return listen_to_states(host.parts.bus, config["entity_id"], listener)


def explain(what: str, config: Mapping[str, Any]) -> str:
    """Return in words what enters or leaves the zone."""
    if config["event"] == ENTER:
        return phrase("when {what} enters {zone}", what=what, zone=config["zone"])
    return phrase("when {what} leaves {zone}", what=what, zone=config["zone"])


KIND = TriggerKind(
    name="zone",
    fields={
        Required("entity_id", description="Persons or trackers with a place."): entity_ids,
        Required("zone", description="The zone."): ZONE,
        Optional("event", default=ENTER, description="enter or leave."): EVENT,
    },
    arm=report_errors(_arm),
    explain=lambda config: explain(join_words(config["entity_id"], "or"), config),
    description="Somebody enters or leaves a zone.",
)
