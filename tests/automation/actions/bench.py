"""Runs steps as they are in a file, on real parts, and remembers the calls of services that it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.automation.definition.grammar import automation
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.dry_run import DryRun
from hub.automation.running.execute import RunEnd, execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import Keeper, RunState
from hub.core.context import SYSTEM, Authority, Context
from hub.core.errors import Unavailable
from hub.core.schema import ALLOW_EXTRA, Schema
from hub.core.services import ResponseMode, ServiceCall
from tests.automation.ground import clock_of, make_parts

ANYTHING = Schema({}, extra=ALLOW_EXTRA)


@dataclass
class Bench:
    """The parts, and what was called: (`domain.service`, data) in order."""

    parts: AutomationParts = field(default_factory=make_parts)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.offer("light.turn_on")
        self.offer("light.turn_off")
        self.offer("test.fail", error=Unavailable("it is out of order"))
        self.offer("test.ask", answer={"value": 42})
        self.offer("test.outside", answer={"text": "words"}, open_world=True)
        self.offer("test.mistake", error=ValueError("a mistake"))

    def offer(
        self,
        name: str,
        *,
        answer: Mapping[str, Any] | None = None,
        error: Exception | None = None,
        open_world: bool = False,
        idempotent: bool = False,
    ) -> None:
        """Offer a service that takes anything."""

        async def handle(call: ServiceCall) -> Mapping[str, Any] | None:
            self.calls.append((name, dict(call.data)))
            self.contexts.append(call.context)
            self.keys.append(call.idempotency_key)
            if error is not None:
                raise error
            return answer

        domain, _, service = name.partition(".")
        mode = ResponseMode.NONE if answer is None else ResponseMode.OPTIONAL
        self.parts.services.register(
            domain, service, handle, ANYTHING, mode, open_world=open_world, idempotent=idempotent
        )

    def run(
        self,
        steps: Any,
        *,
        variables: Mapping[str, Any] | None = None,
        dry: DryRun | None = None,
        authority: Authority = SYSTEM,
        keeper: Keeper | None = None,
        trigger: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> RunState:
        """Make a run of steps as a person writes them."""
        valid = automation({"id": "test", "triggers": [], **config, "actions": steps})
        plan = RunPlan.of_automation("test", valid)
        return RunState(
            plan, self.parts, Context(authority), variables=variables, trigger=trigger, dry=dry, keeper=keeper
        )

    async def ended(self, steps: Any, **more: Any) -> tuple[RunEnd, RunState]:
        """Run steps that wait for nothing."""
        run = self.run(steps, **more)
        return await execute(run), run

    def start(self, run: RunState) -> asyncio.Task[RunEnd]:
        """Run it as a task; `advance` lets time pass."""
        return self.parts.tasks.spawn(execute(run), name="run")

    async def advance(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await clock_of(self.parts).advance(seconds)

    @property
    def called(self) -> list[str]:
        """The names of what was called."""
        return [name for name, _ in self.calls]


def steps_of(run: RunState) -> dict[str, list[dict[str, Any]]]:
    """The steps in the trace of a run."""
    steps: dict[str, list[dict[str, Any]]] = run.trace.as_dict()["steps"]
    return steps


def results(run: RunState, path: str) -> list[dict[str, Any]]:
    """What came of each execution of a step."""
    return [entry.get("result", {}) for entry in steps_of(run)[path]]
