"""A run that has not ended: where it stands, and how it is stopped from outside."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from hub.agent.execution import Execution
from hub.agent.outcome import RunOutcome
from hub.agent.run_request import ActiveRun, RunRequest, RunResult
from hub.core.context import Context


class Phase(StrEnum):
    """Where an active run stands; what is ending cannot be stopped any more."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDING = "ending"


class Active:
    """One active run.

    Attributes:
        request: What is asked.
        context: The run's own link in the chain of reasons.
        phase: Where it stands.
        created_ms, started_ms: Milliseconds since the epoch.
        execution: Does it, once it is its turn.
        task: In which it happens.
    """

    __slots__ = ("_begun", "_stopped", "context", "created_ms", "execution", "phase", "request", "started_ms", "task")

    def __init__(self, request: RunRequest, context: Context, created_ms: int) -> None:
        self.request = request
        self.context = context
        self.created_ms = created_ms
        self.started_ms: int | None = None
        self.phase = Phase.QUEUED
        self.execution: Execution | None = None
        self.task: asyncio.Task[RunResult] | None = None
        self._begun = False
        self._stopped: RunOutcome | None = None

    def begin(self) -> RunOutcome | None:
        """Take the first step; return the outcome that `stop` asked for before there was one."""
        self._begun = True
        return self._stopped

    def stop(self, outcome: RunOutcome) -> bool:
        """End the run with this outcome; return whether that was still possible."""
        if self._stopped is not None or self.phase is Phase.ENDING:
            return False
        self._stopped = outcome
        if self._begun and self.task is not None:  # a task that is cancelled before its first step never takes one
            self.task.cancel()
        return True

    def stopped(self) -> RunOutcome | None:
        """Return the outcome that `stop` asked for, and take its cancellation back; None when the hub itself stops.

        Called in the run's task where it was cancelled.
        """
        task = asyncio.current_task()
        if self._stopped is not None and task is not None:
            task.uncancel()
        return self._stopped

    def shown(self) -> ActiveRun:
        """Return the run as plain data."""
        return ActiveRun(
            self.request.run_id,
            self.request.session_key,
            self.request.agent_id,
            self.request.kind,
            "queued" if self.phase is Phase.QUEUED else "running",
            self.created_ms,
            self.started_ms,
            self.execution.model if self.execution is not None else None,
        )
