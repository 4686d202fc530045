"""A condition among the actions: when it does not hold, the sequence around it ends.

The schema of such a step is that of the condition itself; see `hub.automation.definition.fields`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.running.signals import SequenceEnded
from hub.core.phrases import phrase
from hub.core.schema import Required, string


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    if not await run.holds_here(step, path):
        raise SequenceEnded


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("go on only if {condition}", condition=kinds_in_use().condition(step["condition"]).explain(step))


KIND = ActionKind(
    name="condition",
    fields={Required("condition", description="Which kind of condition."): string},
    run=_run,
    explain=_explain,
    description="Go on only if this holds.",
    effect=False,
)
