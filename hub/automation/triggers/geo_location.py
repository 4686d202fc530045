"""`geo_location`: an event on the map, such as an earthquake of a source, enters a zone or leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.zone import ENTER, EVENT, ZONE, explain, watch
from hub.core.events import Event, Unsubscribe
from hub.core.schema import Optional, Required, string
from hub.core.states import EVENT_STATE_CHANGED


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    source = config["source"].lower()
    moved = watch(config, host, lambda entity, zone: {"source": source, "description": f"geo_location - {source}"})

    def changed(event: Event) -> None:
        if not event.data["entity_id"].startswith("geo_location."):
            return
        states = (event.data["old_state"], event.data["new_state"])
        if any(each is not None and each.attributes.get("source") == source for each in states):
            moved(event)

    return host.parts.bus.listen(EVENT_STATE_CHANGED, changed)


KIND = TriggerKind(
    name="geo_location",
    fields={
        Required("source", description="Who reports it, as in the attribute source."): string,
        Required("zone", description="The zone."): ZONE,
        Optional("event", default=ENTER, description="enter or leave."): EVENT,
    },
    arm=report_errors(_arm),
    explain=lambda config: explain(config["source"], config),
    description="An event on the map enters or leaves a zone.",
)
