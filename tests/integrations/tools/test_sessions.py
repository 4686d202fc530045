"""The status of a session: time, model, usage."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from hub.models.contract import Usage
from integrations.tools import sessions
from tests.integrations.tools.standing import MAIN, Standing


@pytest.fixture
async def place(standing: Standing) -> AsyncIterator[Standing]:
    await standing.db.open()
    await standing.sessions.open()
    await standing.set_up(sessions)
    yield standing
    await standing.sessions.close()
    await standing.db.close()


async def test_it_tells_time_model_and_usage(place: Standing) -> None:
    await place.sessions.ensure(MAIN)
    await place.sessions.patch(MAIN, model="nobody/knows")
    place.sessions.add_usage(MAIN, Usage(10, 5, cost_usd=0.5), context_tokens=12)

    status = json.loads((await place.call("session_status")).output)

    assert (status["time"], status["weekday"]) == ("2026-05-12T14:00:00+02:00", "Tuesday")
    assert status["session_key"] == MAIN
    assert status["usage"]["total_tokens"] == 15
    assert (status["turns"], status["context_tokens"]) == (1, 12)
    assert status["model"] is None
    assert "nobody" in status["model_error"]


async def test_a_session_that_left_no_trace_has_a_status_too(place: Standing) -> None:
    status = json.loads((await place.call("session_status", session="agent:main:direct:x")).output)

    assert status["session_key"] == "agent:main:direct:x"
    assert "usage" not in status


async def test_even_a_stranger_may_ask(place: Standing) -> None:
    assert not (await place.call("session_status", authority=place.stranger)).is_error
