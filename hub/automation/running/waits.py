"""Shared by all waiting actions: the timeout, the variable `wait`, and resuming after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.definition.fields import dynamic_duration
from hub.automation.running.run import Run
from hub.automation.running.signals import StopRun
from hub.core.schema import Optional, boolean

TIMEOUT_FIELDS: Mapping[Any, Any] = {
    Optional("timeout", description="Maximum wait; unlimited by default."): dynamic_duration,
    Optional("continue_on_timeout", default=True, description="Whether the run goes on after the timeout."): boolean,
}


class Wait(Struct, frozen=True):
    """One wait.

    Attributes:
        begun: When it began, perhaps before a restart, seconds since the epoch.
        deadline: When it gives up; None: never.
    """

    begun: float
    deadline: float | None

    def remaining(self, now: float) -> float | None:
        """Return what is left of the timeout, seconds; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - now)


async def begin(step: Mapping[str, Any], run: Run, path: str) -> Wait:
    """Begin a wait, or resume it where it was."""
    state = run.resume(path)
    if isinstance(state, dict) and "begun" in state:
        return Wait(state["begun"], state["deadline"])
    begun = run.parts.clock.time()
    timeout = step.get("timeout")
    deadline = None if timeout is None else begun + await run.seconds(timeout, "timeout")
    await run.save(path, {"begun": begun, "deadline": deadline})
    return Wait(begun, deadline)


async def until(run: Run, arrived: asyncio.Future[Any], wait: Wait) -> bool:
    """Wait for a future; return whether it was done before the deadline.

    Raises:
        HubError: What the future failed with.
    """
    if wait.deadline is None:
        await arrived
        return True
    sleeper = asyncio.ensure_future(run.sleep_until(wait.deadline))
    try:
        await asyncio.wait((arrived, sleeper), return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleeper.cancel()
    if not arrived.done():
        return False
    arrived.result()
    return True


def end(step: Mapping[str, Any], run: Run, wait: Wait, completed: bool, **more: Any) -> None:
    """Set `wait`, and end the run when it gave up and is not to go on.

    Raises:
        StopRun: It timed out, and `continue_on_timeout` is false.
    """
    result = {"completed": completed, "remaining": wait.remaining(run.parts.clock.time()), **more}
    run.scope.assign_wait(result)
    run.tell(wait=result)
    if not completed and not step["continue_on_timeout"]:
        raise StopRun("a wait timed out")


def skip(run: Run, path: str, text: str, **more: Any) -> None:
    """Record a wait in a dry run, where it counts as completed."""
    if run.dry is not None:
        run.dry.skip(path, text)
    result = {"completed": True, "remaining": None, **more}
    run.scope.assign_wait(result)
    run.tell(wait=result, dry=True)
