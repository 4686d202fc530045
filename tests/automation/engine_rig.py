"""The engine over real parts and a real database, with a clock that tests drive; it can be killed and started again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self

from hub.automation.contract import RunSpending
from hub.automation.engine.automations import Automations
from hub.automation.engine.environment import EngineEnvironment, StartOutcome
from hub.automation.engine.parts import AutomationParts
from hub.automation.engine.saved_states import KeptStates
from hub.automation.running.run import RunState
from hub.automation.running.waiting import WaitingRuns
from hub.automation.services.automations import register_automation_services
from hub.automation.tracing.trace_store import TraceStore
from hub.config.check import check
from hub.config.checked import Config
from hub.core.schema import Schema
from hub.core.services import ResponseMode, ServiceCall
from hub.sections import all_sections
from hub.security.redaction import Redactor
from tests.automation.ground import BERLIN, NEW_YEAR, CountedDatabase, clock_of, finish_database_work, make_parts

ANYTHING = Schema({}, extra=True)


class Engine:
    """A home with automations in `automations.yaml`.

    Args:
        home: An empty directory.
        approve: What the owner says to a run.
    """

    def __init__(self, home: Path, approve: Callable[[RunState], Awaitable[bool]] | None = None) -> None:
        self.home = home
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.results: list[StartOutcome] = []
        self.deleted: list[str] = []
        self.fail_with: Exception | None = None
        self.spending: RunSpending | None = None
        self.running = False
        self._dead = False
        self._approve = approve
        self.at = NEW_YEAR
        self.named: Callable[[str], str | None] = lambda _: None
        (home / "configuration.yaml").write_text(
            "hub: {time_zone: Europe/Berlin}\nautomation: !include automations.yaml\n"
        )
        self.write("[]")

    @property
    def parts(self) -> AutomationParts:
        return self._parts

    def write(self, text: str) -> None:
        (self.home / "automations.yaml").write_text(text)

    def read(self) -> Config:
        return check(self.home, all_sections()).config

    def offered(self) -> Mapping[str, Schema]:
        """The services whose calls are kept, by name."""
        return dict.fromkeys(("light.turn_on", "light.turn_off", "test.fail"), ANYTHING)

    def expand(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """What an item that uses a blueprint expands to; here there are none."""
        return dict(item)

    def furnish(self, parts: AutomationParts) -> None:
        """Offer further services."""

    async def start(self, at: float | None = None) -> Self:
        """Start it; `at` is what the wall clock shows, as when the hub was down for a while."""
        self._parts = parts = make_parts(self.home, start=self.at if at is None else at, spending=self.spending)
        parts.ids.named = self.named
        for name, schema in self.offered().items():
            domain, service = name.split(".")
            parts.services.register(domain, service, self._called, schema, ResponseMode.OPTIONAL)
        self.furnish(parts)
        self.db = CountedDatabase(self.home / "hub.db")
        await self.db.open()
        self.traces = TraceStore(None, Redactor(), parts.clock.time, lambda: BERLIN)
        approval: dict[str, Any] = {"approve": self._approve} if self._approve else {}
        desk = EngineEnvironment(
            parts,
            KeptStates(self.db, parts.clock, parts.tasks),
            self.traces,
            WaitingRuns(self.db, parts.clock.time),
            delete=self._delete,
            tell=self._tell,
            **approval,
        )
        self.automations = Automations(desk, self.db, self.expand, lambda: "anna")
        register_automation_services(parts.services, self.automations, self.automations_again)
        await self.automations.open(self.read())
        self.running = True
        return self

    async def settle(self) -> None:
        """Let what goes on come to its end or to a wait: to where the database and the loop have nothing to do."""
        ready, asked = getattr(asyncio.get_running_loop(), "_ready", ()), -1
        while ready or self.db.asked != asked:
            asked = self.db.asked
            await finish_database_work(self.db)
            await self.advance(0)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, with the clock standing still."""
        async with asyncio.timeout(30):
            while not condition():
                await finish_database_work(self.db)
                await self.advance(0)

    async def reload(self) -> list[str]:
        return await self.automations.apply(self.read())

    async def advance(self, seconds: float) -> None:
        await clock_of(self._parts).advance(seconds)

    async def automations_again(self) -> None:
        """What `automation.reload` does."""
        await self.automations.apply(self.read(), again=True)

    def jump(self, seconds: float) -> None:
        clock_of(self._parts).jump(seconds)

    async def stop(self) -> None:
        """Stop it in good order."""
        self.at = self._parts.clock.time()
        await self.automations.close()
        await self.db.close()
        self.running = False

    async def kill(self) -> None:
        """Stop it as `kill -9` does: nothing more is written."""
        self.at = self._parts.clock.time()
        self._dead = True  # what still happens in this process until it is gone did not happen
        self.db.kill()
        await self.automations.close()
        await self.db.close()
        self._dead = False
        self.running = False

    def fire(self, type: str, data: Mapping[str, Any] | None = None) -> None:
        self._parts.bus.fire(type, dict(data or {}))

    async def _called(self, call: ServiceCall) -> None:
        if self._dead:
            return
        self.calls.append((f"{call.domain}.{call.service}", dict(call.data)))
        if call.domain == "test":
            raise self.fail_with or RuntimeError("broken")

    async def _delete(self, id: str) -> None:
        if self._dead:
            return
        self.deleted.append(id)

    async def _tell(self, result: StartOutcome) -> None:
        self.results.append(result)
