"""What a crash left of steering: no message is lost between the run that was to hear it and a run of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.messaging.access.decide import MessagingSettings
from hub.messaging.inbound import Quote
from hub.messaging.inbox import inbox_rows
from hub.messaging.queue.queue_policy import QueueMode
from tests.agent.house import CHANGING
from tests.messaging.conftest import OPEN
from tests.messaging.post import ONE_BY_ONE, Post
from tests.messaging.test_queue import asked, waits
from tests.messaging.test_quotes import ANNA, ROSES, asks, tainted
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S


@pytest.mark.parametrize("told", [True, False], ids=["told at once", "told after another crash"])
async def test_what_was_to_steer_a_run_that_was_interrupted_before_gets_a_run_of_its_own(
    tmp_path: Path, openai_server: OpenAIServer, told: bool
) -> None:
    settings = MessagingSettings(queue=waits(QueueMode.STEER))
    before = Post(tmp_path / "home", openai_server.base_url, settings=settings)
    before.tool("act", lambda call: "done", CHANGING)
    await before.open()
    openai_server.queue([{"tool_call": {"name": "act", "arguments": {}}}], [{"hold": "never"}])
    await before.said("hello", "m1")
    await openai_server.until_arrived(2)
    await before.said("and this", "m2")
    [(run_id,)] = await before.rows("SELECT run_id FROM inbox WHERE message_id = 'm1'")
    [(row_id, own)] = await before.rows("SELECT id, run_id FROM inbox WHERE message_id = 'm2'")
    joined = inbox_rows.MessageRow(row_id, own, is_named=False)
    # It was to be heard, and the hub died before its words were in the transcript.
    await before.db.write(lambda connection: inbox_rows.join(connection, run_id, [joined], "steered"))
    await before.close()
    openai_server.reset()
    openai_server.queue("answered")

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings)
    after.tool("act", lambda call: "done", CHANGING)
    if not told:
        await after.open()
        await after.runner.recover()
        await after.close()
        after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings)
        after.tool("act", lambda call: "done", CHANGING)
    await after.open()
    await after.until(lambda: len(after.pigeons.texts()) >= 2)
    await after.runs.drain(timeout_s=LIMIT_S)

    assert "restarted" in after.pigeons.texts()[0]
    assert after.pigeons.texts()[1:] == ["answered"]
    assert "and this" in asked(openai_server, 0)
    assert await after.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    assert await after.rows("SELECT state FROM runs ORDER BY position") == [("interrupted",), ("answered",)]
    await after.close()


async def test_what_a_waiting_message_quotes_is_told_after_a_restart(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    settings = MessagingSettings(queue=ONE_BY_ONE)
    before = Post(tmp_path / "home", openai_server.base_url, settings=settings, access=OPEN)
    await before.open()
    id = await asks(before, openai_server)
    openai_server.queue([{"hold": "never"}])
    await before.said("and then?", **ANNA)
    await openai_server.until_arrived(2)
    await before.said("please do", **ANNA, quoted=Quote(ROSES), reply_to=id)
    await before.said("who says so?", **ANNA, quoted=Quote("the boiler leaks", "test:user:9"))
    await before.close()
    openai_server.reset()

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons, settings=settings, access=OPEN)
    await after.open()
    await after.all_answered()
    told = "\n".join(asked(openai_server, at) for at in range(len(openai_server.requests())))

    assert f'[in reply to you: "{ROSES}"]\nplease do' in told
    assert "somebody: the boiler leaks\n>>>outside" in told
    assert tainted(after)
    await after.close()


async def test_what_arrives_while_the_hub_stops_begins_no_run_and_is_answered_after_the_next_start(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    before = Post(tmp_path / "home", openai_server.base_url)
    await before.open()
    [runs] = [each for each in before.stages() if each.name == "runs"]
    assert runs.stop is not None
    await runs.stop()  # the channel is stopped after it
    await before.said("hello", "m1")
    await before.runs.drain(timeout_s=LIMIT_S)
    assert await before.rows("SELECT state FROM runs") == [("queued",)]
    await before.close()
    openai_server.queue("answered")

    after = Post(tmp_path / "home", openai_server.base_url, before.pigeons)
    await after.open()
    await after.until(lambda: after.pigeons.texts() == ["answered"])

    await after.close()
