"""`variables`: assign variables, each of which may use those before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import variables
from hub.core.phrases import phrase
from hub.core.schema import Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    await run.define(step["variables"])


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("set {names}", names=list(step["variables"])) if step["variables"] else phrase("set nothing")


KIND = ActionKind(
    name="variables",
    fields={Required("variables", description="Names and values; templates are rendered at once."): variables},
    run=_run,
    explain=_explain,
    description="Assign variables.",
    effect=False,
)
