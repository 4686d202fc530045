"""A runner in a process of its own, for tests that kill it: `python -m tests.agent.child HOME BASE_URL FORM`.

It reads one JSON object per line: {"run_id", "text", "session"} is taken, run, and said `accepted`; {"stop": true} ends
it when all has ended. What was asked and what was delivered stands in the table `meta`, in the runs' own transactions;
each change that its tool makes is a line in HOME/effects.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from hub.agent.run_request import RunRequest, RunResult
from hub.core.sql import SqlConnection
from hub.tools.contract import ToolCall
from tests.agent.house import CHANGING, AgentHouse, standing

PAUSE_S = 0.01


class Child:
    """Takes what is asked, and takes it up again after a kill."""

    def __init__(self, house: AgentHouse) -> None:
        self.house = house
        self.runs: list[asyncio.Task[RunResult]] = []
        self.effects = house.home.path / "effects"
        house.tool("change", self._change, CHANGING)
        house.tool("look", self._look)

    async def main(self) -> None:
        await self._recover()
        print("ready", flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            asked = json.loads(line)
            if asked.get("stop"):
                await asyncio.gather(*self.runs)
                return
            await self._take(asked)
            print("accepted", asked["run_id"], flush=True)

    async def _recover(self) -> None:
        recovered = await self.house.runner.recover()
        stored = await self.house.db.read(
            lambda connection: dict(
                connection.execute("SELECT key, value FROM meta WHERE key LIKE 'asked:%'").fetchall()
            )
        )

        def tell(connection: SqlConnection) -> None:
            for run_id in recovered.interrupted:
                _note(connection, f"interrupted:{run_id}", "yes")

        await self.house.db.write(tell)
        for run_id in (*recovered.completed, *recovered.rerun):
            self._run(json.loads(stored[f"asked:{run_id}"]))

    async def _take(self, asked: dict[str, Any]) -> None:
        request = self._request(asked)

        def write(connection: SqlConnection) -> None:
            _note(connection, f"asked:{request.run_id}", json.dumps(asked))
            self.house.runner.insert_queued(connection, request)

        await self.house.db.write(write)
        self._run(asked)

    def _run(self, asked: dict[str, Any]) -> None:
        run = self.house.runner.run(self._request(asked))
        self.runs.append(self.house.tasks.spawn(run, name=f"ask {asked['run_id']}"))

    def _request(self, asked: dict[str, Any]) -> RunRequest:
        run_id = asked["run_id"]

        def on_final(connection: SqlConnection, result: RunResult) -> None:
            _note(connection, f"reply:{run_id}", result.reply or str(result.error))

        return self.house.request(
            asked["text"], run_id=run_id, session=asked["session"], kind="message", on_final=on_final
        )

    async def _change(self, call: ToolCall) -> str:
        with self.effects.open("a") as file:
            file.write(f"{call.run_id}\n")
        await asyncio.sleep(PAUSE_S)
        return "changed"

    async def _look(self, _: ToolCall) -> str:
        await asyncio.sleep(PAUSE_S)
        return "seen"


def _note(connection: SqlConnection, key: str, value: str) -> None:
    # Noting something twice breaks the primary key, and so the test.
    connection.execute("INSERT INTO meta(key, value) VALUES (?, ?)", (key, value))


async def _main() -> None:
    async with standing(AgentHouse(Path(sys.argv[1]), sys.argv[2], form=sys.argv[3])) as house:
        await Child(house).main()


if __name__ == "__main__":
    asyncio.run(_main())
