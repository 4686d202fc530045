"""`tag`: a phone has scanned a tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import join_words
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.event import event_data
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, ensure_list, string

EVENT_TAG_SCANNED = "tag_scanned"


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    where = {key: config[key] for key in ("tag_id", "device_id") if key in config}

    def scanned(event: Event) -> None:
        told = {"event": event_data(event), "description": "Tag scanned"}
        host.fire(told, event.context, tainted=is_somebody_elses(event.context))

    return host.parts.bus.listen(EVENT_TAG_SCANNED, scanned, where)


_IDS = All(ensure_list(string), Length(min=1, max=100))

KIND = TriggerKind(
    name="tag",
    fields={
        Required("tag_id", description="Ids of tags."): _IDS,
        Optional("device_id", description="Only phones with these ids."): _IDS,
    },
    arm=report_errors(_arm),
    explain=lambda config: phrase("when the tag {tag} is scanned", tag=join_words(config["tag_id"], "or")),
    description="A phone scanned a tag.",
)
