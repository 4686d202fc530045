"""`delay`: wait; after a restart, only the rest is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import dynamic_duration
from hub.automation.running.waits import deadline, read_seconds, sleep_until
from hub.core.phrases import phrase
from hub.core.schema import Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    seconds = await read_seconds(run, step["delay"], "delay")
    run.tell(delay=seconds)
    if run.dry is not None:
        run.dry.skip(path, f"wait {seconds:g} s")
        return
    await sleep_until(run.parts.clock, await deadline(run, seconds, path))


def _explain(step: Mapping[str, Any]) -> str:
    delay = step["delay"]
    return phrase("wait {span}", span=f"{delay:g} s" if isinstance(delay, float) else delay)


KIND = ActionKind(
    name="delay",
    fields={
        Required("delay", description="How long: 90, 00:01:30, 1h 30m, or days, hours, minutes…"): dynamic_duration
    },
    run=_run,
    explain=_explain,
    description="Wait.",
    effect=False,
)
