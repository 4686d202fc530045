"""`event`: fire an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind
from hub.automation.fields import dynamic, dynamic_text
from hub.automation.run import Run
from hub.core.errors import InvalidRequest
from hub.core.schema import AnyOf, Optional, Required, string


async def _run(step: Mapping[str, Any], run: Run, path: str) -> None:
    type = str(await run.render_later(step["event"]))
    data: dict[str, Any] = {}
    for key in ("event_data", "event_data_template"):
        given = await run.render_later(step.get(key))
        if given is None:
            continue
        if not isinstance(given, Mapping):
            raise InvalidRequest(f"{key} of the event {type} is not a mapping")
        data.update(given)
    run.tell(event=type, event_data=data)
    if run.dry is not None:
        run.dry.call(path, f"event.{type}", data)
        return
    run.root.effect = True
    run.parts.bus.fire(type, data, run.context)


def _explain(step: Mapping[str, Any]) -> str:
    return f"fire the event {step['event']}"


_DATA = AnyOf(None, {string: dynamic}, dynamic_text)

KIND = ActionKind(
    name="event",
    fields={
        Required("event", description="Event type."): dynamic_text,
        Optional("event_data", description="Its data."): _DATA,
        Optional("event_data_template", description="The old word for data with templates."): _DATA,
    },
    run=_run,
    explain=_explain,
    description="Fire an event.",
)
