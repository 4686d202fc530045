"""Follows a run from its request to its end, streaming its text; a client that disconnects stops it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.core.errors import HubError
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner


class RunStream:
    """Runs a request and gives its text in pieces.

    Use it with `async with`: leaving before the end, or being cancelled, aborts the run.

    Args:
        runner: Runs it.
        bus: Tells its text; only listened to with `streaming`.
        tasks: Owner of its task, with `streaming`, so that an abort is waited for by nobody.
        request: What to run.
    """

    def __init__(
        self, runner: AgentRunner, bus: EventBus, tasks: TaskOwner, request: RunRequest, *, streaming: bool
    ) -> None:
        self._runner = runner
        self._bus = bus
        self._tasks = tasks
        self._request = request
        self._streaming = streaming
        self._pieces: list[str] = []
        self._news = asyncio.Event()
        self._task: asyncio.Task[RunResult] | None = None
        self._ended = False
        self._said = False
        self._apart = False

    async def __aenter__(self) -> RunStream:
        where = {"run_id": self._request.run_id}
        self._unsubscribe = []
        if self._streaming:
            self._unsubscribe = [
                self._bus.listen("run_delta", self._delta, where),
                self._bus.listen("run_tool_started", self._tool, where),
            ]
            self._task = self._tasks.spawn(self._run(), name=f"run {self._request.run_id}")
            self._task.add_done_callback(lambda _: self._news.set())
        return self

    async def __aexit__(self, *_: object) -> None:
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        if self._ended or self._runner.abort(run_id=self._request.run_id):
            return
        if self._task is not None:
            self._task.cancel()  # it has not begun

    async def result(self) -> RunResult:
        """Wait for the end; a run that could not begin has failed."""
        return await (self._run() if self._task is None else asyncio.shield(self._task))

    async def pieces(self, idle_s: float) -> AsyncIterator[str]:
        """Yield the text as it comes, deltas that came at once as one; it ends with the run (see `result`).

        Args:
            idle_s: After this long without text an empty piece is given, so that the connection shows life.
        """
        while True:
            if self._pieces:
                text = "".join(self._pieces)
                self._pieces.clear()
                yield text
                continue
            if self._task is None or self._task.done():
                return
            self._news.clear()
            try:
                async with asyncio.timeout(idle_s):
                    await self._news.wait()
            except TimeoutError:
                yield ""

    async def _run(self) -> RunResult:
        try:
            result = await self._runner.run(self._request, fresh=True)
        except HubError as error:
            request = self._request
            result = RunResult(
                request.run_id, request.session_key, RunStatus.ERROR, stop="error", error=error.as_dict()
            )
        self._ended = True
        return result

    def _delta(self, event: Event) -> None:
        if self._apart and self._said:
            self._pieces.append("\n\n")
        self._apart = False
        self._said = True
        self._pieces.append(event.data["text"])
        self._news.set()

    def _tool(self, _: Event) -> None:
        # What is said after a tool call is another paragraph; the call itself is not shown.
        self._apart = True
