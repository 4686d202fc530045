from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.agent_runs import AgentRunFailed
from hub.core.context import Authority, Context
from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.core.ids import new_id
from tests.agent.house import CHANGING, READ_ONLY
from tests.automation.services.desk import ANNA, AUTOMATION, Desk
from tests.servers.openai_server import OpenAIServer


async def test_an_agent_answers_in_a_conversation_of_its_own(desk: Desk, openai_server: OpenAIServer) -> None:
    openai_server.queue("good morning")

    answer = await desk.call("agent.run", {"message": "greet me"})

    assert (answer["reply"], answer["status"], answer["announced"]) == ("good morning", "ok", False)
    assert answer["session_key"] == "agent:main:cron:morning"
    assert answer["model"] == "test/model"
    assert desk.said(answer["session_key"]) == [("user", "greet me"), ("assistant", "good morning")]
    assert desk.pigeons.sent == []


async def test_each_isolated_run_begins_anew_and_old_transcripts_stay(desk: Desk, openai_server: OpenAIServer) -> None:
    await desk.call("agent.run", {"message": "count apples"})
    await desk.call("agent.run", {"message": "count pears"})

    sent = openai_server.requests()[-1]["body"]["messages"]
    assert "apples" not in str(sent)
    assert desk.said("agent:main:cron:morning")[0] == ("user", "count pears")
    assert len(await desk.post.sessions.transcripts.agents_by_id()) == 2


async def test_a_room_is_told_to_the_agent(desk: Desk, openai_server: OpenAIServer) -> None:
    await desk.call("agent.run", {"message": "turn on the light", "area": "Kitchen"})

    assert "in Kitchen" in str(openai_server.requests()[-1]["body"]["messages"][-1])


async def test_a_named_session_goes_on(desk: Desk, openai_server: OpenAIServer) -> None:
    await desk.call("agent.run", {"message": "count apples", "session": "cron:diary"})
    answer = await desk.call("agent.run", {"message": "count pears", "session": "cron:diary"})

    assert answer["session_key"] == "agent:main:cron:diary"
    assert "apples" in str(openai_server.requests()[-1]["body"]["messages"])


async def test_the_same_key_asks_the_agent_once(desk: Desk, openai_server: OpenAIServer) -> None:
    first = await desk.call("agent.run", {"message": "hi", "announce": "last"}, key="run:0")
    again = await desk.call("agent.run", {"message": "hi", "announce": "last"}, key="run:0")

    assert again["run_id"] == first["run_id"]
    assert again["reply"] == first["reply"]
    assert len(openai_server.requests()) == 1


async def test_an_answer_is_announced_where_the_owner_wrote_last(desk: Desk) -> None:
    await desk.post.said("hello")
    await desk.post.until(lambda: desk.pigeons.texts() == ["ok"])

    answer = await desk.call("agent.run", {"message": "greet me", "announce": "last"}, key="run:0")
    await desk.call("agent.run", {"message": "greet me", "announce": "last"}, key="run:0")
    await desk.post.until_counts(sent=2)

    assert answer["announced"] is True
    assert desk.pigeons.texts() == ["ok", "ok"]
    await desk.post.until(lambda: len(desk.said()) == 3)
    assert desk.said()[-1] == ("assistant", "ok")


async def test_an_answer_is_announced_to_an_address(desk: Desk) -> None:
    await desk.call("agent.run", {"message": "greet", "announce": {"channel": "test", "to": "42"}})

    await desk.post.until(lambda: desk.pigeons.texts("42") == ["ok"])


async def test_an_address_may_be_written_in_one_word(desk: Desk) -> None:
    await desk.call("agent.run", {"message": "greet", "announce": "test:42"})

    await desk.post.until(lambda: desk.pigeons.texts("42") == ["ok"])


@pytest.mark.parametrize("reply", ["NO_REPLY", "**HEARTBEAT_OK**"])
async def test_a_silent_answer_is_kept_to_itself(desk: Desk, openai_server: OpenAIServer, reply: str) -> None:
    openai_server.queue(reply)

    answer = await desk.call("agent.run", {"message": "look", "announce": {"channel": "test", "to": "42"}})

    assert (answer["reply"], answer["announced"]) == (reply, False)
    assert await desk.post.outbox.counts() == {}


async def test_an_answer_can_be_silent_unless_it_holds_a_word(desk: Desk, openai_server: OpenAIServer) -> None:
    openai_server.queue("all quiet", "Rain is coming")
    data = {"message": "look", "announce": {"channel": "test", "to": "42"}, "silent_unless": ["rain"]}

    assert (await desk.call("agent.run", data))["announced"] is False
    assert (await desk.call("agent.run", data))["announced"] is True


async def test_an_agent_that_fails_fails_the_step(desk: Desk, openai_server: OpenAIServer) -> None:
    openai_server.queue({"status": 401})
    notes: dict[str, Any] = {}

    with pytest.raises(AgentRunFailed) as failure:
        await desk.services.call("agent", "run", {"message": "hi"}, context=Context(AUTOMATION), notes=notes)

    assert failure.value.details["status"] == "error"
    assert notes["run_id"] == failure.value.details["run_id"]
    assert await desk.post.outbox.counts() == {}


@pytest.mark.parametrize(
    ("answers", "may"),
    [
        ([{"status": 529}], True),
        ([{"status": 429}], True),
        ([{"tool_call": {"name": "look"}}, {"status": 529}], True),
        ([{"tool_call": {"name": "change"}}, {"status": 529}], False),
        ([{"status": 401}], False),
    ],
)
async def test_a_run_may_be_tried_again_when_no_model_could_be_asked_and_nothing_was_done(
    desk: Desk, openai_server: OpenAIServer, answers: list[dict[str, Any]], may: bool
) -> None:
    desk.post.tool("look", lambda call: "seen", READ_ONLY)
    desk.post.tool("change", lambda call: "done", CHANGING)
    *before, last = answers
    openai_server.queue(*before)
    openai_server.set_default(last)

    with pytest.raises(AgentRunFailed) as failure:
        await desk.call("agent.run", {"message": "brief me"})

    assert failure.value.retryable is may


async def test_tools_can_only_be_narrowed(desk: Desk, openai_server: OpenAIServer) -> None:
    desk.post.tool("look", lambda call: "seen", READ_ONLY)
    desk.post.tool("change", lambda call: "done", CHANGING)
    narrow = Context(Authority("automation:x", person="me", owner=True, scopes=AUTOMATION.scopes))

    await desk.call("agent.run", {"message": "hi", "tools": ["look"]}, context=narrow)
    await desk.call("agent.run", {"message": "hi", "tools": "minimal"})

    offered = [{each["function"]["name"] for each in r["body"].get("tools", [])} for r in openai_server.requests()]
    assert offered == [{"look"}, set()]


async def test_the_main_conversation_is_only_the_owners(desk: Desk) -> None:
    answer = await desk.call("agent.run", {"message": "hi", "session": "main"})

    assert answer["session_key"] == "agent:main:main"
    with pytest.raises(Forbidden):
        await desk.call("agent.run", {"message": "hi", "session": "main"}, authority=ANNA)
    with pytest.raises(InvalidRequest):
        await desk.call("agent.run", {"message": "hi", "agent": "main", "session": "agent:other:main"})


async def test_a_run_asked_for_in_its_own_conversation_is_queued(desk: Desk) -> None:
    context = Context(AUTOMATION)
    async with desk.post.lanes.hold("session:agent:main:main", context):
        answer = await desk.call("agent.run", {"message": "later", "session": "main"}, context=context.child())
        assert (answer["status"], answer["reply"]) == ("queued", "")

    await desk.post.until(lambda: ("user", "later") in desk.said())


async def test_two_isolated_runs_at_once_do_not_mix(desk: Desk, openai_server: OpenAIServer) -> None:
    openai_server.set_default([{"hold": "both"}, {"text": "ok"}])
    calls = [asyncio.create_task(desk.call("agent.run", {"message": text})) for text in ("one", "two")]
    await desk.post.until(lambda: len(openai_server.requests()) == 2)
    openai_server.release("both")

    answers = await asyncio.gather(*calls)

    keys = {answer["session_key"] for answer in answers}
    assert len(keys) == 2
    assert all(len(desk.said(key)) == 2 for key in keys)


async def test_cancelling_the_call_stops_the_run(desk: Desk, openai_server: OpenAIServer) -> None:
    openai_server.set_default([{"hold": "never"}])
    call = asyncio.create_task(desk.call("agent.run", {"message": "hi"}))
    await desk.post.until(lambda: len(openai_server.requests()) == 1)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await desk.post.until(lambda: not desk.post.runner.active())
    assert await desk.post.rows("SELECT state FROM runs") == [("aborted",)]


async def test_a_run_that_a_crash_cut_off_is_taken_up_and_announced_once(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    data = {"message": "greet", "announce": {"channel": "test", "to": "42"}}
    first = Desk(tmp_path / "home", openai_server.base_url)
    await first.open()
    openai_server.set_default([{"hold": "never"}])
    cut = asyncio.create_task(first.call("agent.run", data, key="run:0"))
    await first.post.until(lambda: len(openai_server.requests()) == 1)
    first.post.bus.fire("hub_stopping", {})
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    await first.close()

    openai_server.reset()
    second = Desk(tmp_path / "home", openai_server.base_url, first.pigeons)
    await second.open()
    answers = [await second.call("agent.run", data, key="run:0") for _ in range(2)]
    await second.post.until_counts(sent=1)
    await second.close()

    assert answers[0]["reply"] == "ok"
    assert answers[0]["run_id"] == answers[1]["run_id"]
    assert second.pigeons.texts("42") == ["ok"]


async def test_runs_that_nothing_takes_up_are_given_up(desk: Desk) -> None:
    await desk.post.db.write(
        lambda connection: (
            connection.execute(
                "INSERT INTO runs(id, agent_id, session_key, kind, state, lane, created_ms)"
                " VALUES ('auto-1', 'main', 'agent:main:cron:x', 'message', 'queued', 'cron', 0)"
            ).rowcount
        )
    )

    assert await desk.runs.give_up_orphans() == 1
    assert await desk.post.rows("SELECT state FROM runs") == [("interrupted",)]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"message": ""},
        {"message": "x", "announce": "nowhere"},
        {"message": "x", "announce": {"channel": "test"}},
        {"message": "x", "tools": {"profile": "everything"}},
        {"message": "x", "timeout": -1},
        {"message": "x", "session": "agent:main:what:group"},
        {"message": "x", "agent": "nobody"},
        {"message": "x", "unknown": 1},
    ],
)
async def test_wrong_data_is_refused(desk: Desk, data: dict[str, Any]) -> None:
    with pytest.raises(HubError):
        await desk.call("agent.run", data, key=new_id())

    assert await desk.post.rows("SELECT id FROM runs") == []
