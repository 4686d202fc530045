from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.automation.contract import RunOutcome
from hub.automation.engine.environment import StartOutcome
from hub.automation.engine.result_notice import FORM, ResultNotices
from hub.core.clock import ManualClock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.security.egress import Egress
from hub.security.webhook_signature import sign
from tests.security.web_servers import WebServer, started
from tests.until import until


class Desk:
    """Notices over a real server and the real client; the clock is moved by hand."""

    def __init__(self, server: WebServer, *, allowed: bool = True) -> None:
        self.server = server
        self.clock = ManualClock(1_000_000.0)
        self.tasks = TaskOwner("test")
        self.repairs = Repairs(EventBus(self.tasks))
        egress = Egress(lambda: {server.target} if allowed else set())
        self.notices = ResultNotices(egress, self.repairs, self.clock, self.tasks, self._answer)

    async def _answer(self, run_id: str) -> str | None:
        return {"run2": "The wash is done."}.get(run_id)

    async def tell(self, outcome: RunOutcome = RunOutcome.FINISHED, began: str | None = None, **notify: Any) -> None:
        wanted = {"url": self.server.url("/hook"), "on": "all", **notify}
        config = {"notify": wanted}
        await self.notices(StartOutcome("wash", "The wash", "run1", outcome, None, 1.0, 2.5, config, began))

    async def done(self) -> None:
        await until(lambda: not self.tasks.names())


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    found, runner = await started()
    yield found
    await runner.cleanup()


async def test_a_result_is_posted_and_signed(server: WebServer) -> None:
    desk = Desk(server)
    server.page("/hook", "ok")

    await desk.tell(secret=Secret("a long secret"))
    await desk.done()

    request = server.asked[-1]
    body = request.body
    told = json.loads(body)
    assert (request.method, told["automation_id"], told["outcome"]) == ("POST", "wash", "finished")
    assert told["finished"] == "1970-01-01T00:00:02.500+00:00"
    assert request.headers["X-Homarus-Timestamp"] == "1000000"
    assert request.headers["X-Homarus-Signature"] == sign("a long secret", body, FORM, "1000000")


async def test_what_an_agent_answered_is_posted_with_the_token(server: WebServer) -> None:
    desk = Desk(server)
    server.page("/hook", "ok")

    await desk.tell(began="run2", token=Secret("a token"))
    await desk.done()

    request = server.asked[-1]
    assert json.loads(request.body)["answer"] == "The wash is done."
    assert request.headers["Authorization"] == "Bearer a token"
    assert "X-Homarus-Signature" not in request.headers


async def test_only_what_was_asked_for_is_told(server: WebServer) -> None:
    desk = Desk(server)
    server.page("/hook", "ok")

    await desk.tell(RunOutcome.FINISHED, on="failed")
    await desk.tell(RunOutcome.FAILED, on="finished")
    await desk.notices(StartOutcome("a", "a", "r", RunOutcome.FAILED, None, 1.0, 2.0, {}))
    await desk.done()

    assert server.asked == []


async def test_a_server_that_fails_is_tried_again(server: WebServer) -> None:
    desk = Desk(server)
    server.page("/hook", "busy", status=503)

    await desk.tell()
    await until(lambda: len(server.asked) == 1)
    assert desk.notices.waiting == 1
    server.page("/hook", "ok")
    while desk.tasks.names():
        await desk.clock.advance(1.0)
        await asyncio.sleep(0.005)

    assert len(server.asked) == 2
    assert desk.repairs.all() == []
    assert desk.notices.waiting == 0


@pytest.mark.parametrize(("status", "allowed"), [(404, True), (200, False)])
async def test_what_is_refused_for_good_is_told_as_a_repair(server: WebServer, status: int, allowed: bool) -> None:
    desk = Desk(server, allowed=allowed)
    server.page("/hook", "no", status=status)

    await desk.tell()
    await desk.done()

    assert [(each.id, each.source) for each in desk.repairs.all()] == [("wash:notify", "automation")]
