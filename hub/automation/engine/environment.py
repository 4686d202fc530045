"""The environment of automations: shared dependencies, outcomes of firings, and results of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from hub.automation.contract import NotRun, RunOutcome
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import KeptStates
from hub.automation.running.execute import RunEnd
from hub.automation.running.run import RunState
from hub.automation.running.waiting import WaitingRuns
from hub.automation.tracing.trace_store import TraceStore


class StartOutcome(Struct, frozen=True):
    """How a run ended, for the callbacks that are notified; `began` is the last run that it started itself."""

    automation_id: str
    alias: str
    run_id: str
    outcome: RunOutcome
    error: str | None
    started: float
    finished: float
    config: Mapping[str, Any]
    began: str | None = None


async def _approve_nothing(run: RunState) -> bool:
    """Nobody can be asked, so the answer is no."""
    return False


async def _nothing(result: StartOutcome) -> None:
    """Default callback: discard the result."""


class EngineEnvironment(Struct, frozen=True):
    """The dependencies of all automations.

    Attributes:
        traces: Stores traces; None in a simulation.
        waiting: Stores runs that survive a restart; None in a simulation.
        approve: Asks the owner whether a run may begin; asked again with the same run after a restart.
        delete: Removes an automation from its file, once it ran and said so.
        tell: Called with each result.
    """

    parts: AutomationParts
    kept: KeptStates
    traces: TraceStore | None = None
    waiting: WaitingRuns | None = None
    approve: Callable[[RunState], Awaitable[bool]] = _approve_nothing
    delete: Callable[[str], Coroutine[Any, Any, None]] | None = None
    tell: Callable[[StartOutcome], Awaitable[None]] = _nothing


@dataclass(slots=True, eq=False)
class ActiveRun:
    """An active or waiting run, and its task."""

    run: RunState
    task: asyncio.Task[RunEnd]


@dataclass(frozen=True, slots=True)
class FiringResult:
    """The result of a firing: the run it started, or the reason why it started none."""

    run_id: str | None = None
    not_run: NotRun | None = None
    text: str = ""
    task: asyncio.Task[RunEnd] | None = field(default=None, repr=False, compare=False)
