"""A runner whose models are programs: the real client, and a scripted program of the protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hub.agent.run_request import RunRequest, RunResult
from hub.core.clock import ManualClock
from hub.tools.approvals import Approvals
from integrations.models.acp import setup
from integrations.models.acp.schema import CONFIG_SCHEMA
from tests.agent.house import AgentHouse
from tests.hosting import host_on

DOUBLE = "acp/double"
PROGRAM = Path(__file__).with_name("agent_double.py")


class AcpHouse(AgentHouse):
    """A runner with the program `acp/double`; `offer` adds others, or the same one with other options."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "home", "http://127.0.0.1:9", clock=ManualClock())
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)
        self.project = folder / "project"
        self.project.mkdir(exist_ok=True)
        self.heard = folder / "log"

    async def open(self) -> None:
        await super().open()
        await self.approvals.open()
        await self.offer()

    async def close(self) -> None:
        await self.approvals.close()
        await super().close()

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(PROGRAM), "--log", str(self.heard), *options]

    async def offer(self, *options: str, **keys: Any) -> None:
        program = {"command": self.command(*options), "folder": str(self.project), **keys}
        host, _ = host_on(self, "acp")
        await setup(host, CONFIG_SCHEMA({"agents": {"double": program}}))

    async def ask(self, text: str, **fields: Any) -> RunResult:
        return await self.runner.run(self.asking(text, **fields))

    def asking(self, text: str, **fields: Any) -> RunRequest:
        return self.request(text, model=DOUBLE, **fields)

    def sent(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of what the program was sent."""
        lines = self.heard.read_text().splitlines() if self.heard.exists() else []
        return [each["params"] for each in map(json.loads, lines) if each.get("method") == method]
