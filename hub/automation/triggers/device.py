"""`device`: something happened to a device: an entity of it changed, or it reported it, such as a press of a button.

With `entity_id` it is a trigger of that entity's state. Without it, it listens to the event `device_event` with
`{device_id, type, subtype, …}`, which integrations fire for what a device reports in no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.device_words import state_of
from hub.automation.definition.fields import dynamic_duration, number_or_entity
from hub.automation.triggers import numeric_state, state
from hub.automation.triggers.arming import render_limited, report_errors
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, entity_or_registry_id, string

EVENT_DEVICE = "device_event"
_TOLD = ("device_id", "type", "subtype", "data")


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    if "entity_id" in config:
        return _of_entity(config, host)
    where = {key: render_limited(config[key], host) for key in ("device_id", "type", "subtype") if key in config}

    def happened(event: Event) -> None:
        trigger = {key: event.data[key] for key in _TOLD if key in event.data}
        words = f"{where.get('type', '')} {where.get('subtype', '')}".strip()
        host.fire({**trigger, "description": f"device: {words}"}, event.context, tainted=True)

    return host.parts.bus.listen(EVENT_DEVICE, happened, where)


def _of_entity(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    found: dict[str, Any] = {"entity_id": [config["entity_id"]]}
    found |= {key: config[key] for key in ("for", "above", "below") if key in config}
    if "above" in found or "below" in found:
        return numeric_state.KIND.arm(found, host)
    to = state_of(config["domain"], config["type"])
    return state.KIND.arm({**found, "to": [to] if to is not None else None}, host)


def _explain(config: Mapping[str, Any]) -> str:
    what = " ".join(str(config[key]).replace("_", " ") for key in ("type", "subtype") if key in config)
    return phrase(
        "when the device {device} reports: {what}", device=config.get("entity_id") or config["device_id"], what=what
    )


KIND = TriggerKind(
    name="device",
    fields={
        Required("device_id", description="The device."): string,
        Required("domain", description="Of the entity, or of the integration."): string,
        Required("type", description="The event, such as turned_on."): string,
        Optional("subtype", description="Which button, for example."): string,
        Optional("entity_id", description="The entity of the device that it is about."): entity_or_registry_id,
        Optional("above", description="Fires above this number, or above the number of this entity."): number_or_entity,
        Optional("below", description="Fires below this number, or below the number of this entity."): number_or_entity,
        Optional("for", description="How long it must stay so."): dynamic_duration,
        Optional("discovery_id", description="Data of Home Assistant's editor; not used."): string,
        Optional("metadata", description="Data of Home Assistant's editor; not used."): object,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="Something happened to a device.",
)
