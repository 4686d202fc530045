"""`parallel`: several sequences at the same time; the first error is raised after all have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import sequence
from hub.automation.running.plan import Steps
from hub.automation.running.signals import Signal, StepFailed, StopRun, error_text
from hub.core.phrases import phrase
from hub.core.schema import DescribedLater, Invalid, MultipleInvalid, Required, as_list, each_error


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_branch(branch["sequence"], run, f"{path}/parallel/{index}"), name=f"{path}/{index}")
            for index, branch in enumerate(step["parallel"])
        ]
    raised = [task.result() for task in tasks]
    for error in raised:
        if error is not None:
            raise error


async def _branch(steps: Steps, run: StepRun, path: str) -> Exception | None:
    """Run one branch; return the exception that ended it, so that the other branches continue."""
    state = run.resume(path)
    if isinstance(state, dict):
        return _ended_before(state)
    ended: Exception | None = None
    try:
        await run.fork(path, {}, branch=True).sequence(steps, f"{path}/sequence")
    except Signal as signal:
        ended = signal
    except Exception as error:  # raised by `_run` once all branches have ended
        ended = error
    run.note(path, _state_of(ended))
    return ended


def _state_of(ended: Exception | None) -> dict[str, Any]:
    if ended is None:
        return {"done": True}
    if isinstance(ended, StopRun):
        return {"stop": ended.text, "response": ended.response, "error": ended.error}
    return {"failed": error_text(ended)}


def _ended_before(state: Mapping[str, Any]) -> Exception | None:
    """The error that ended a branch before the hub stopped."""
    if "stop" in state:
        return StopRun(state["stop"], state["response"], error=state["error"])
    return StepFailed(state["failed"]) if "failed" in state else None


def _branches(value: Any) -> list[dict[str, Any]]:
    """Check the branches; a single step is a branch of it."""
    found: list[dict[str, Any]] = []
    errors: list[Invalid] = []
    for index, item in enumerate(as_list(value)):
        try:
            steps = sequence(item)
        except Invalid as error:
            error.prepend([index])
            errors.extend(each_error(error))
            continue
        alone = steps[0] if len(steps) == 1 and set(steps[0]) <= {"sequence", "alias"} else None
        found.append(alone if alone is not None and "sequence" in alone else {"sequence": steps})
    if errors:
        raise MultipleInvalid(errors)
    return found


def _explain(step: Mapping[str, Any]) -> str:
    return phrase("do {count} things at the same time", count=len(step["parallel"]))


def _json() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object"}}


KIND = ActionKind(
    name="parallel",
    fields={
        Required("parallel", description="Each an action, or a sequence of them."): DescribedLater(
            _branches, _json, "branches", "array"
        )
    },
    run=_run,
    explain=_explain,
    description="Do several things at the same time.",
    effect=False,
)
