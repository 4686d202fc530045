"""Waits that survive a restart: durations, deadlines, and the timeout and the variable `wait` of actions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.contract import StepRun
from hub.automation.definition.fields import dynamic_duration
from hub.automation.definition.values import resolve_duration
from hub.automation.running.signals import StopRun
from hub.core.clock import RECHECK_S, Clock
from hub.core.errors import InvalidRequest
from hub.core.schema import Optional, SchemaError, boolean, describe_error

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
        """Return the rest of the timeout in seconds; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - now)


async def read_seconds(run: StepRun, value: Any, key: str) -> float:
    """Return the seconds of a `dynamic_duration`.

    Raises:
        InvalidRequest: What its template gave is not a duration.
    """
    if isinstance(value, float):
        return value
    rendered = await run.render_later(value)
    try:
        return resolve_duration(rendered, lambda value: value)
    except SchemaError as error:
        raise InvalidRequest(f"{key}: {describe_error(error)}") from error


async def deadline(run: StepRun, seconds: float, path: str) -> float:
    """Return the end of a wait that begins now, or began before the hub stopped: seconds since the epoch."""
    state = run.resume(path)
    if isinstance(state, dict) and "deadline" in state:
        return float(state["deadline"])
    when = run.parts.clock.time() + seconds
    await run.save(path, {"deadline": when})
    return when


async def sleep_until(clock: Clock, when: float) -> None:
    """Wait until the wall clock shows `when`, but no longer than the present distance, however the clock jumps."""
    left = when - clock.time()
    end = clock.monotonic() + left
    while left > 0:
        await clock.sleep(min(left, RECHECK_S))
        left = min(when - clock.time(), end - clock.monotonic())


async def begin(step: Mapping[str, Any], run: StepRun, path: str) -> Wait:
    """Begin a wait, or resume it where it was."""
    state = run.resume(path)
    if isinstance(state, dict) and "begun" in state:
        return Wait(state["begun"], state["deadline"])
    begun = run.parts.clock.time()
    timeout = step.get("timeout")
    gives_up = None if timeout is None else begun + await read_seconds(run, timeout, "timeout")
    await run.save(path, {"begun": begun, "deadline": gives_up})
    return Wait(begun, gives_up)


async def until(run: StepRun, arrived: asyncio.Future[Any], wait: Wait) -> bool:
    """Wait for a future; return whether it was done before the deadline.

    Raises:
        HubError: What the future failed with.
    """
    if wait.deadline is None:
        await arrived
        return True
    sleeper = asyncio.ensure_future(sleep_until(run.parts.clock, wait.deadline))
    try:
        await asyncio.wait((arrived, sleeper), return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleeper.cancel()
    if not arrived.done():
        return False
    arrived.result()
    return True


def end(step: Mapping[str, Any], run: StepRun, wait: Wait, completed: bool, **more: Any) -> None:
    """Set `wait`, and end the run if it timed out and is not to continue.

    Raises:
        StopRun: It timed out, and `continue_on_timeout` is false.
    """
    result = {"completed": completed, "remaining": wait.remaining(run.parts.clock.time()), **more}
    run.scope.assign_wait(result)
    run.tell(wait=result)
    if not completed and not step["continue_on_timeout"]:
        raise StopRun("a wait timed out")


def skip(run: StepRun, path: str, text: str, **more: Any) -> None:
    """Record a wait in a dry run, where it counts as completed."""
    if run.dry is not None:
        run.dry.skip(path, text)
    result = {"completed": True, "remaining": None, **more}
    run.scope.assign_wait(result)
    run.tell(wait=result, dry=True)
