"""Whoever asks the worker while the settings change gets the answer of the index that holds from then on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from integrations.memory.notes.job import Job, Source
from integrations.memory.notes.worker import frames
from integrations.memory.notes.worker.server import Server

ROUNDS = 150


class Hub:
    """The hub's end of the pipe."""

    def __init__(self, home: Path) -> None:
        (home / "workspace").mkdir()
        (home / "workspace" / "MEMORY.md").write_text("The boiler\n", encoding="utf-8")
        self._home = home
        self._pipe = asyncio.StreamReader()
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.serving = asyncio.ensure_future(Server(home).serve(self._pipe, self._answered))

    def ask(self, op: str, args: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        """Send a request, and return what is answered once it is."""
        answer = self._answers[len(self._answers)] = asyncio.get_running_loop().create_future()
        self._pipe.feed_data(frames.encode({"id": len(self._answers) - 1, "op": op, "agent": "main", "args": args}))
        return answer

    def settle(self, limit: int) -> asyncio.Future[dict[str, Any]]:
        """Tell of the memory, with some settings."""
        settings = {"embeddings": {"provider": "none"}, "search": {"limit": limit}}
        sources = (Source("", str(self._home / "workspace")),)
        return self.ask("job", Job("main", str(self._home / "main"), sources, settings).as_plain())

    def hang_up(self) -> None:
        """End the pipe."""
        self._pipe.feed_eof()

    def _answered(self, message: dict[str, Any]) -> None:
        self._answers[message["id"]].set_result(message)


@pytest.mark.parametrize("op", ["sync", "status"])
async def test_settings_that_change_at_any_moment_lose_no_answer(tmp_path: Path, op: str) -> None:
    hub = Hub(tmp_path)
    await hub.settle(1)
    first = await hub.ask("sync", {})

    answers = []
    for moment in range(ROUNDS):
        answer = hub.ask(op, {})
        for _ in range(moment):
            await asyncio.sleep(0)  # a step of what answers
        await hub.settle(moment + 2)
        answers.append((await answer).get("result", await answer))

    assert first["result"]["chunks"] == 1
    assert [each.get("chunks", each) for each in answers] == [1] * ROUNDS
    hub.hang_up()
    await hub.serving
