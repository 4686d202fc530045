"""`event`: fire an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import dynamic_text
from hub.automation.definition.mapping_field import dynamic_mapping, merge
from hub.automation.definition.phrases import quote
from hub.automation.engine.own_events import fire_custom, refuse_own
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    type = str(await run.render_later(step["event"]))
    refuse_own(type, run.context.authority)
    data: dict[str, Any] = {}
    for key in ("event_data", "event_data_template"):
        merge(data, await run.render_later(step.get(key)), key)
    run.tell(event=type, event_data=data)
    if run.dry is not None:
        run.dry.call(path, f"event.{type}", data)
        return
    fire_custom(run.parts.bus, type, run.secrets.marked(data), run.context)


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("fire the event {event}", event=quote(step["event"]))


KIND = ActionKind(
    name="event",
    fields={
        Required("event", description="Event type."): dynamic_text,
        Optional("event_data", description="The event data."): dynamic_mapping,
        Optional("event_data_template", description="The old name of data with templates."): dynamic_mapping,
    },
    run=_run,
    explain=_explain,
    description="Fire an event.",
)
