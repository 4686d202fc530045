"""`persistent_notification`: a notice is shown on the dashboard, or goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import join_words
from hub.automation.services.hub_services import EVENT_NOTICE
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Optional, ensure_list, string

_UPDATES = ("added", "removed", "updated", "current")


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    where = {"update_type": config["update_type"]} if "update_type" in config else None

    def changed(event: Event) -> None:
        if config.get("notification_id") in (None, event.data["notification"]["notification_id"]):
            told = {**event.data, "description": f"notification {event.data['update_type']}"}
            host.fire(told, event.context, tainted=is_somebody_elses(event.context))

    return host.parts.bus.listen(EVENT_NOTICE, changed, where)


def _explain(config: Mapping[str, Any]) -> str:
    notice = (
        phrase("the notice {id}", id=config["notification_id"]) if "notification_id" in config else phrase("a notice")
    )
    if config.get("update_type") is None:
        return phrase("when {what} comes or goes", what=notice)
    return phrase("when {what} is {state}", what=notice, state=join_words(config["update_type"], "or"))


KIND = TriggerKind(
    name="persistent_notification",
    fields={
        Optional("notification_id", description="Only the notice with this id."): string,
        Optional("update_type", description="added, removed, updated or current; any by default."): ensure_list(
            In(_UPDATES)
        ),
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A notice on the dashboard came or went.",
)
