"""`hub`: the hub has started, or is about to stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.triggers.arming import report_errors
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Required

EVENTS = {"start": "hub_started", "shutdown": "hub_stopping"}


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    """Watch for it; a trigger that is armed after the start does not fire for it."""
    name: str = config["event"]

    def happened(event: Event) -> None:
        said = "starting" if name == "start" else "stopping"
        host.fire({"event": name, "description": f"the hub is {said}"}, event.context)

    return host.parts.bus.listen(EVENTS[name], happened)


KIND = TriggerKind(
    name="hub",
    fields={Required("event", description="start or shutdown."): In(("start", "shutdown"))},
    arm=report_errors(_arm),
    explain=lambda config: (
        phrase("when the hub has started") if config["event"] == "start" else phrase("when the hub stops")
    ),
    description="The hub started or stops.",
)
