"""`device_id`: do something with a device, by the service of its entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.device_words import service_of
from hub.automation.definition.fields import dynamic, dynamic_text
from hub.automation.running.calling import call_service
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, entity_or_registry_id, string

_DATA = ("position", "value", "option", "hvac_mode", "preset_mode", "humidity", "mode", "brightness_pct", "code")
_NOTICE = ("message", "title", "data")
"""Of `domain: mobile_app`, `type: notify`."""


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    name = service_of(step["domain"], step["type"])
    key = "entity_id" if "entity_id" in step else "device_id"
    data = {each: await run.render_later(step[each]) for each in (key, *_DATA, *_NOTICE) if each in step}
    if name.endswith("tilt_position") and "position" in data:
        data["tilt_position"] = data.pop("position")
    run.tell(service=name, data=data)
    await call_service(run, name, data, path, None)


def _explain(step: Mapping[str, Any]) -> str:
    device = step.get("entity_id") or step["device_id"]
    return phrase("{service} ({entities})", service=service_of(step["domain"], step["type"]), entities=device)


KIND = ActionKind(
    name="device_id",
    fields={
        Required("device_id", description="The device."): dynamic_text,
        Required("domain", description="Of its entities."): string,
        Required("type", description="The action, such as turn_on."): string,
        Optional("entity_id", description="The entity of the device that it is about."): entity_or_registry_id,
        **{Optional(each, description="Data of the service."): dynamic for each in (*_DATA, *_NOTICE)},
        Optional("metadata", description="Data of Home Assistant's editor; not used."): object,
    },
    run=_run,
    explain=_explain,
    description="Do something with a device.",
)
