"""`sequence`: several steps as one; a condition that does not hold ends only these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import sequence
from hub.core.phrases import phrase
from hub.core.schema import Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    await run.sequence(step["sequence"], f"{path}/sequence")


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("do {count} actions in order", count=len(step["sequence"]))


KIND = ActionKind(
    name="sequence",
    fields={Required("sequence", description="What is done, in order."): sequence},
    run=_run,
    explain=_explain,
    description="Several actions as one.",
    effect=False,
)
