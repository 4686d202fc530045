"""`if` / `then` / `else`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import conditions, sequence
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import all_of
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    holds = run.resume(path)
    if holds is None:
        holds = await run.holds(step["if"], f"{path}/if/condition")
        run.note(path, holds)
    run.tell(choice="then" if holds else "else")
    if holds:
        await run.sequence(step["then"], f"{path}/then")
    elif step.get("else"):
        await run.sequence(step["else"], f"{path}/else")


def _explain(step: Mapping[str, Any]) -> str:
    when = all_of(kinds_in_use().condition(each["condition"]).explain(each) for each in step["if"]) or phrase(
        "anything"
    )
    said = phrase("if {condition}: do {count} actions", condition=when, count=len(step["then"]))
    return phrase("{said}; else {count} actions", said=said, count=len(step["else"])) if step.get("else") else said


KIND = ActionKind(
    name="if",
    fields={
        Required("if", description="Conditions that must be met."): conditions,
        Required("then", description="What is done when it holds."): sequence,
        Optional("else", description="What is done when it does not."): sequence,
    },
    run=_run,
    explain=_explain,
    description="Do one thing or another.",
    effect=False,
)
