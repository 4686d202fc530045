"""A run followed by one client or several: its streamed text and its answer; the run stops when the last one leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError
from hub.core.events import Event, EventBus
from hub.core.tasks import TaskOwner
from hub.gateway.http_api.kept_runs import Answer

RETRY_WITHIN_S = 15.0
"""A client that sends its request again is waited for this long before its run is stopped."""


class RunStream:
    """Runs a request and gives its text in pieces.

    Use it with `async with`: when the last one leaves before the end, or is cancelled, the run is aborted.

    Args:
        runner: Runs it.
        bus: Delivers the run's text.
        tasks: Owner of its task.
        clock: Times the wait for a client to return.
        request: The run to make.
        begin: Called before the run.
        finish: Returns the answer for the run's result, or an awaitable that stores and returns it.
        in_pieces: Whether `pieces` is read; an answer sent as a whole needs none.

    Attributes:
        keyed: Whether the client gave an idempotency key: it may return at any time.
        retried: Whether the client repeats its request by itself while it has received nothing.
        sent: Whether anything was sent to the client.
    """

    def __init__(
        self,
        runner: AgentRunner,
        bus: EventBus,
        tasks: TaskOwner,
        clock: Clock,
        request: RunRequest,
        *,
        begin: Callable[[], Awaitable[None]] | None,
        finish: Callable[[RunResult], Answer | Coroutine[Any, Any, Answer]],
        in_pieces: bool,
    ) -> None:
        self.run_id = request.run_id
        self.keyed = self.retried = self.sent = False
        self._runner = runner
        self._tasks = tasks
        self._clock = clock
        self._pieces: list[str] = []
        self._news = asyncio.Event()
        self._said = False
        self._apart = False
        self._followers = 0
        self._left = False
        where = {"run_id": request.run_id}
        listened = (("run_delta", self._delta), ("run_tool_started", self._tool)) if in_pieces else ()
        self._unsubscribe = [bus.listen(type, callback, where) for type, callback in listened]
        self._finish = finish
        self._answer: Answer | None = None
        if begin is None:
            self._follow(runner.start(request, self._answered))
        else:
            self._follow(tasks.spawn(self._begin(begin, request), name=f"begin run {request.run_id}"))

    @property
    def ended(self) -> bool:
        """Whether the answer is complete."""
        return self._answer is not None or self._task.done()

    async def __aenter__(self) -> RunStream:
        self._followers += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._followers -= 1
        if self._followers or self.ended:
            return
        if self.keyed or (self.retried and not self.sent):
            self._tasks.spawn(self._wait_for_retry(), name=f"wait for the client of run {self.run_id}")
        else:
            self._stop()

    async def answer(self) -> Answer:
        """Wait for the end; a run that could not begin has failed.

        Raises:
            Conflict: It was stopped, since its client had left.
        """
        if self._left:
            raise Conflict("this request was stopped when its connection broke; send it again as a new one")
        while not self.ended:
            await self._news.wait()
        return self._answer or await self._task  # one that ended without an answer raises why

    async def pieces(self, idle_s: float) -> AsyncIterator[str]:
        """Yield the text from its beginning, with simultaneous deltas joined; ends with the run (see `answer`).

        Args:
            idle_s: After this long without text an empty piece is given, so that the connection shows life.
        """
        at = 0
        while True:
            if at < len(self._pieces):
                text, at = "".join(self._pieces[at:]), len(self._pieces)
                yield text
                continue
            if self.ended:
                return
            try:
                async with asyncio.timeout(idle_s):
                    await self._news.wait()
            except TimeoutError:
                yield ""

    async def _begin(self, begin: Callable[[], Awaitable[None]], request: RunRequest) -> None:
        try:
            await begin()
        except HubError as error:
            failed = error.as_dict()
            self._answered(RunResult(request.run_id, request.session_key, RunStatus.ERROR, stop="error", error=failed))
        else:
            await asyncio.shield(self._runner.start(request, self._answered))

    def _follow(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        task.add_done_callback(self._end)

    def _answered(self, result: RunResult) -> None:
        answer = self._finish(result)
        if isinstance(answer, Answer):
            self._answer = answer
            self._tell()
        else:
            self._follow(self._tasks.spawn(answer, name=f"keep the answer of run {self.run_id}"))

    def _end(self, _: object) -> None:
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._tell()

    async def _wait_for_retry(self) -> None:
        await self._clock.sleep(RETRY_WITHIN_S)
        if not self._followers and not self.ended:
            self._stop()

    def _stop(self) -> None:
        self._left = True
        if not self._runner.abort(run_id=self.run_id):
            self._task.cancel()  # it has not begun

    def _delta(self, event: Event) -> None:
        if self._apart and self._said:
            self._pieces.append("\n\n")
        self._apart = False
        self._said = True
        self._pieces.append(event.data["text"])
        self._tell()

    def _tool(self, _: Event) -> None:
        # What is said after a tool call is another paragraph; the call itself is not shown.
        self._apart = True

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
