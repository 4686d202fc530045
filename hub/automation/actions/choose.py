"""`choose` / `default`: the first option whose conditions hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import conditions, sequence
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import all_of, any_of
from hub.core.phrases import phrase
from hub.core.schema import All, Optional, Required, Schema, as_list, string

_DEFAULT = "default"


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    choice = run.resume(path)
    if choice is None:
        choice = await _choose(step, run, path)
        run.note(path, choice)
    run.tell(choice=choice)
    if choice != _DEFAULT:
        await run.sequence(step["choose"][choice]["sequence"], f"{path}/choose/{choice}/sequence")
    elif step.get("default"):
        await run.sequence(step["default"], f"{path}/default")


async def _choose(step: Mapping[str, Any], run: StepRun, path: str) -> int | str:
    for index, option in enumerate(step["choose"]):
        place = f"{path}/choose/{index}"
        holds = await run.holds(option["conditions"], f"{place}/conditions")
        run.record(place, holds=holds)
        if holds:
            return index
    return _DEFAULT


def _explain(step: Mapping[str, Any]) -> str:
    options = [
        option.get("alias")
        or all_of(kinds_in_use().condition(each["condition"]).explain(each) for each in option["conditions"])
        for option in step["choose"]
    ]
    said = phrase("choose: {options}", options=any_of(phrase("if {condition}", condition=each) for each in options))
    if not step.get("default"):
        return said
    return phrase("{said}; else {count} actions", said=said, count=len(step["default"]))


_OPTION = Schema(
    {
        Optional("alias", description="Name shown in traces."): string,
        Required("conditions", description="Conditions that must be met."): conditions,
        Required("sequence", description="What is done then."): sequence,
    }
)

KIND = ActionKind(
    name="choose",
    fields={
        Required("choose", description="The options, in order."): All(as_list, [_OPTION]),
        Optional("default", description="What is done when none of them holds."): sequence,
    },
    run=_run,
    explain=_explain,
    description="Do the first of several things whose conditions hold.",
    effect=False,
)
