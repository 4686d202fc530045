"""Executes a run from beginning to end: variables, timeout, retry, `on_error`, and the outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from hub.automation.contract import RunOutcome
from hub.automation.running.run import RunState
from hub.automation.running.signals import Interrupted, StopRun, error_text, is_foreseen
from hub.automation.running.waits import sleep_until
from hub.core.errors import HubError, TimedOut
from hub.core.phrases import Phrase, phrase

_log = logging.getLogger(__name__)

T = TypeVar("T")

ON_ERROR = "on_error"
BAD_OUTCOMES = frozenset({RunOutcome.FAILED, RunOutcome.TIMED_OUT})


class RunEnd(Struct, frozen=True):
    """The end of a run.

    Attributes:
        error: What went wrong, with the path of the step; None when nothing did.
        response: The response of a `stop`.
        reason: Why it stopped early, when that was no error.
        failure: The error itself, when there was one.
        conversation_response: The last text of `set_conversation_response`.
    """

    outcome: RunOutcome
    error: str | None = None
    response: Any = None
    reason: str = ""
    failure: Exception | None = None
    conversation_response: Any = None


async def execute(run: RunState) -> RunEnd:
    """Execute the run and return its outcome; its trace is ended too.

    Raises:
        CancelledError: Its task was cancelled by something else than `run.cancel`, as when the hub stops: a run that is
            kept stays kept, and resumes at the next start.
    """
    run.task = asyncio.current_task()
    if not run.position.is_begun:  # what it waited for its turn, or for the owner's word, is not part of it
        run.started = run.parts.clock.time()
    try:
        ended = await _whole(run) if run.cancelled is None else RunEnd(RunOutcome.CANCELLED, reason=run.cancelled)
        await _absorb(run)
    except asyncio.CancelledError:
        if run.cancelled is None:
            run.trace.end(RunOutcome.INTERRUPTED, phrase("the hub stopped"), run.variables)
            raise
        if run.task is not None:
            run.task.uncancel()
        ended = RunEnd(RunOutcome.CANCELLED, reason=run.cancelled)
    finally:
        run.task = None
    if run.keeper is not None:
        try:
            await run.keeper.forget(run.id)
        except HubError as error:
            _log.error("the run %s of %s has ended and is still kept: %s", run.id, run.plan.trace_id, error.message)
    if run.dry is None and (ended.outcome in BAD_OUTCOMES or ended.outcome is RunOutcome.INTERRUPTED):
        warn(run, ended)
    # Last: whoever sees that it has ended may set it off again.
    run.trace.end(ended.outcome, ended.error or ended.reason or None, run.variables)
    return ended


def warn(run: RunState, ended: RunEnd) -> None:
    """Log that a run failed: the one line for those who do not look at traces."""
    plan = run.plan
    name = plan.alias if plan.alias == plan.owner_id else f"{plan.alias} ({plan.trace_id})"
    error = None if is_foreseen(ended.failure) else ended.failure
    _log.warning("%s %s failed: %s", plan.owner_kind, name, plan.secrets.text(ended.error or ""), exc_info=error)


async def _absorb(run: RunState) -> None:
    """Ignore a cancellation that arrived with the last step: the run has already ended."""
    if run.cancelled is None:
        return
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if run.task is not None:
            run.task.uncancel()


async def _whole(run: RunState) -> RunEnd:
    try:
        ended = await _limited(run, _attempts)
    except TimedOut as error:
        ended = RunEnd(RunOutcome.TIMED_OUT, error.message, failure=error)
    except HubError as error:
        ended = RunEnd(RunOutcome.FAILED, phrase("it could not be kept: {error}", error=error.message), failure=error)
    if ended.outcome in BAD_OUTCOMES and not isinstance(run.plan.on_error, str):
        await _handle(run, ended)
    return RunEnd(ended.outcome, ended.error, ended.response, ended.reason, ended.failure, run.conversation_response)


async def _attempts(run: RunState) -> RunEnd:
    """Run until success, or until the attempts are used up."""
    position = run.position
    if position.error is not None:
        return _failed_before(run)
    if not run.defined:
        run.defined = True
        try:
            await run.frame.define(run.plan.variables_beside(run.variables))
        except HubError as error:
            return RunEnd(RunOutcome.FAILED, phrase("variables: {error}", error=error.message), failure=error)
    retry = run.plan.retry
    if retry is not None and position.begun is None:
        position.begun = dict(run.variables)
    if run.keeper is not None and not run.saved:
        await run.keeper.save(run)
    while True:
        if position.retry_at is not None:
            await sleep_until(run.parts.clock, position.retry_at)
            position.retry_at = None
        ended = await _attempt(run)
        if ended.outcome is not RunOutcome.FAILED or retry is None:
            return ended
        if not retry.allows(position.attempt + 1, ended.failure):
            return ended
        position.attempt += 1
        position.begin_again()
        delay_s = retry.delay_before(position.attempt)
        position.retry_at = run.parts.clock.time() + delay_s
        run.begin_again(position.begun or {})
        run.trace.step("retry").result(attempt=position.attempt + 1, delay_s=delay_s, error=ended.error).end()
        if run.dry is not None:
            position.retry_at = None
        if run.keeper is not None:
            await run.keeper.save(run)


async def _attempt(run: RunState) -> RunEnd:
    try:
        completed = await run.frame.sequence(run.plan.actions, run.plan.root)
    except StopRun as stop:
        if stop.error:
            return RunEnd(RunOutcome.FAILED, stop.text or phrase("it was stopped with an error"))
        return RunEnd(RunOutcome.STOPPED, response=stop.response, reason=stop.text)
    except Interrupted as error:
        return RunEnd(RunOutcome.INTERRUPTED, _told(run, error), failure=error)
    except Exception as error:  # `Frame.step` has told it in the trace; whoever runs this sees how it ended
        return RunEnd(RunOutcome.FAILED, _told(run, error), failure=error)
    if not completed:
        return RunEnd(RunOutcome.STOPPED, reason=phrase("a condition among its actions does not hold"))
    return RunEnd(RunOutcome.FINISHED)


def _told(run: RunState, error: Exception) -> str:
    """Return what went wrong, behind the step's path; its translation is without, as pages have the step beside it."""
    path, text = run.failed_path if run.failure is error else None, error_text(error)
    if not path:
        return text
    return Phrase(f"{path}: {text}", text.template, text.values) if isinstance(text, Phrase) else f"{path}: {text}"


async def _handle(run: RunState, ended: RunEnd) -> None:
    """Run the steps of `on_error`, which see `error`; their failures are recorded in the trace."""
    position = run.position
    if position.error is None:
        code = getattr(ended.failure, "code", "STOPPED" if ended.failure is None else "INTERNAL")
        position.begin_again()
        position.error = {
            "message": str(ended.error or "") or None,
            "code": code,
            "path": run.failed_path,
            "outcome": ended.outcome.value,
        }
        run.frame.assign("error", position.error)
        if run.keeper is not None:
            await run.keeper.save(run)
    run.started = run.parts.clock.time()
    try:
        await _limited(run, _handlers)
    except (StopRun, TimedOut):
        return
    except Exception as error:  # the run has failed already; its trace tells this error too
        with run.trace.step(ON_ERROR) as entry:
            entry.error(_told(run, error))
        warn(run, RunEnd(RunOutcome.FAILED, f"{ON_ERROR}: {_told(run, error)}", failure=error))


async def _handlers(run: RunState) -> bool:
    steps = run.plan.on_error
    return not isinstance(steps, str) and await run.frame.sequence(steps, ON_ERROR)


def _failed_before(run: RunState) -> RunEnd:
    """Return the outcome of a run that was in its `on_error` when the hub stopped."""
    error = run.position.error or {}
    return RunEnd(RunOutcome(error.get("outcome", RunOutcome.FAILED)), error.get("message"))


async def _limited(run: RunState, work: Callable[[RunState], Awaitable[T]]) -> T:
    """Run `work` within the plan's timeout, counted from the start of the run.

    Raises:
        TimedOut: It took longer and was cancelled.
    """
    limit_s = run.plan.timeout_s
    task = run.task
    if limit_s is None or task is None or run.dry is not None:
        return await work(run)
    over = False

    async def watch() -> None:
        nonlocal over
        await sleep_until(run.parts.clock, run.started + limit_s)
        over = True
        task.cancel()

    watcher = run.parts.tasks.spawn(watch(), name=f"timeout of {run.plan.trace_id}")
    try:
        return await work(run)
    except asyncio.CancelledError:
        if not over or run.cancelled is not None:
            raise
        task.uncancel()
        raise TimedOut(phrase("it took longer than {limit_s} s", limit_s=f"{limit_s:g}")) from None
    finally:
        watcher.cancel()
