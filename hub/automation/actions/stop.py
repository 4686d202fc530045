"""`stop`: end the run, as done or as failed, with or without an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import dynamic_text
from hub.automation.running.signals import StopRun
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import AnyOf, Invalid, Optional, Required, boolean, string


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    text = str(await run.render_later(step["stop"] or ""))
    failed = bool(step.get("error", False))
    run.tell(stop=text, error=failed)
    name = step.get("response_variable")
    if name is None:
        raise StopRun(text, error=failed)
    if name not in run.scope.view:
        raise InvalidRequest(f"response_variable: there is no variable {name}")
    raise StopRun(text, run.scope.view[name])


def _explain(step: Mapping[str, Any]) -> str:
    ending = phrase("fail") if step.get("error") else phrase("stop")
    return phrase("{said}: {reason}", said=ending, reason=step["stop"]) if step["stop"] else ending


def _rule(step: dict[str, Any]) -> dict[str, Any]:
    if step.get("error") and "response_variable" in step:
        raise Invalid(phrase("a stop with an error returns no response; use one of them"), path=["response_variable"])
    return step


KIND = ActionKind(
    name="stop",
    fields={
        Required("stop", description="The reason, for people."): AnyOf(dynamic_text, None),
        Optional("error", default=False, description="Whether the run counts as failed."): boolean,
        Optional("response_variable", description="Variable whose value the run returns."): string,
    },
    run=_run,
    explain=_explain,
    description="End the run here.",
    effect=False,
    rule=_rule,
)
