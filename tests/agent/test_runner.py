"""Runs: a message goes in, a reply comes out, and everything in between is stored and told."""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path

import pytest

from hub.agent.run_request import RunResult, RunStatus
from hub.core.errors import NotFound
from hub.core.ids import new_id
from hub.core.sql import SqlConnection
from hub.models.contract import user_message
from hub.tools.contract import ToolCall
from tests.agent.house import CHANGING, MAIN, TEXT, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer
from tests.transcripts import transcript_file


@pytest.fixture(params=["file", "table"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_message_is_answered_and_kept(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue("It is fine.")

    result = await house.runner.run(house.request("how are you?", run_id="r1", channel="webchat", sender_name="Me"))

    assert (result.status, result.reply, result.stop, result.model) == ("ok", "It is fine.", "end", "test/model")
    assert house.transcript() == [("user", "how are you?"), ("assistant", "It is fine.")]
    row = await house.row("r1")
    assert (row["state"], row["reply"], row["kind"], row["model"]) == (
        "answered",
        "It is fine.",
        "request",
        "test/model",
    )


async def test_the_model_gets_prompt_envelope_and_history(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue("one", "two")

    await house.runner.run(house.request("first", channel="telegram", sender_name="Me"))
    await house.runner.run(house.request("second", channel="telegram", sender_name="Me"))

    before, after = (each["body"]["messages"] for each in openai_server.requests())
    assert before[0]["role"] == "system"
    assert before[1]["content"].endswith("\n\nfirst")
    assert "telegram, from Me]" in before[1]["content"]
    assert after[: len(before)] == before
    assert after[2] == {"role": "assistant", "content": "one"}
    assert after[3]["content"].endswith("\n\nsecond")


async def test_the_room_of_the_speaker_is_told_to_the_model_and_to_tools(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    areas: list[str | None] = []
    house.tool("look", lambda call: areas.append(call.area))
    openai_server.queue({"tool_call": {"name": "look", "arguments": {}}}, "done")

    await house.runner.run(house.request("too dark in here", channel="voice", area="Kitchen]\n"))

    said = openai_server.requests()[0]["body"]["messages"][1]["content"]
    assert "voice, in Kitchen]\n\ntoo dark" in said
    assert areas == ["Kitchen]\n"]


async def test_a_listener_that_fails_with_the_result_does_not_hold_the_session(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue("one", "two")

    def fails(result: RunResult) -> None:
        raise RuntimeError(result.reply)

    with pytest.raises(RuntimeError, match="one"):
        await house.runner.start(house.request("first"), fails)
    result = await asyncio.wait_for(house.runner.run(house.request("second")), 30)

    assert result.reply == "two"


async def test_events_tell_the_run_in_order(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"thinking": "hm"}, {"text": "Hello there", "chunks": 2}])

    await house.runner.run(house.request("hi", run_id="r1"))

    run = [(name, data) for name, data in house.events if name.startswith("run_")]
    assert [name for name, _ in groupby(name for name, _ in run)] == [
        "run_queued",
        "run_message",
        "run_started",
        "run_thinking",
        "run_delta",  # one for each read from the model
        "run_message",
        "run_finished",
    ]
    assert all(data["run_id"] == "r1" and data["session_key"] == MAIN for _, data in run)
    assert "".join(data["text"] for name, data in run if name == "run_delta") == "Hello there"
    assert run[-3][1]["so_far_chars"] == len("Hello there")
    assert run[-1][1]["status"] == "ok"


async def test_a_model_with_final_tags_says_what_stands_between_them_alone_also_while_it_writes(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    server = {"api": "openai", "base_url": openai_server.base_url, "final_tags": True}
    provider = {**server, "models": [{"id": "model", "context_window": 32_768}, {"id": "other", "final_tags": False}]}
    thought = "They greet me. <final>Hello "
    openai_server.queue([{"text": thought}, {"text": "there.</final> I am done."}], "No <final>tags</final>.", "Yes.")
    models = {"providers": {"test": provider}}
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url, models=models)) as house:
        greeted = await house.runner.run(house.request("hi"))
        shown = "".join(each["text"] for each in house.told("run_delta"))
        other = await house.runner.run(house.request("and you?", model="test/other"))
        none = await house.runner.run(house.request("sure?"))

    first, second, third = (each["body"]["messages"] for each in openai_server.requests()[:3])
    assert (greeted.reply, shown) == ("Hello there.", "Hello there.")
    assert "Only what stands between <final> and </final> reaches anybody" in first[0]["content"]
    assert (other.reply, second[2]["content"]) == ("No tags.", "Hello there.")
    assert "<final>" not in second[0]["content"]
    assert [each["content"] for each in third if each["role"] == "assistant"] == [
        "<final>Hello there.</final>",
        "<final>No tags.</final>",
    ]
    assert none.error is not None
    assert none.error["code"] == "MODEL_EMPTY"


async def test_a_tool_is_called_and_its_result_fed_back(house: AgentHouse, openai_server: OpenAIServer) -> None:
    house.tool("shout", lambda call: call.arguments["text"].upper(), parameters=TEXT)
    openai_server.queue(
        [{"text": "Let me see."}, {"tool_call": {"name": "shout", "arguments": {"text": "hi"}, "id": "c1"}}], "Done."
    )

    result = await house.runner.run(house.request())

    assert result.reply == "Done."
    assert house.transcript()[1:] == [("assistant", "Let me see."), ("toolResult", "HI"), ("assistant", "Done.")]
    assert openai_server.requests()[1]["body"]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "HI",
    }
    assert [m.role.value for m in result.messages] == ["assistant", "toolResult", "assistant"]
    assert house.told("run_tool_finished")[0]["output"] == "HI"


async def test_parallel_safe_calls_go_side_by_side_and_answer_in_order(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    second_began = asyncio.Event()

    async def first(_: object) -> str:
        await second_began.wait()
        return "first"

    def second(_: object) -> str:
        second_began.set()
        return "second"

    house.tool("one", first)
    house.tool("two", second)
    openai_server.queue(
        [
            {"tool_call": {"name": "one", "arguments": {}, "id": "a"}},
            {"tool_call": {"name": "two", "arguments": {}, "id": "b"}},
        ],
        "ok",
    )

    result = await house.runner.run(house.request())

    assert result.status == "ok"
    assert [text for role, text in house.transcript() if role == "toolResult"] == ["first", "second"]


async def test_one_call_that_is_not_parallel_safe_makes_them_wait_for_each_other(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    running: list[str] = []
    most = 0

    async def slow(call: object) -> str:
        nonlocal most
        running.append("x")
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.pop()
        return "done"

    house.tool("look", slow)
    house.tool("change", slow, CHANGING)
    openai_server.queue(
        [{"tool_call": {"name": name, "arguments": {}, "id": name}} for name in ("look", "change")], "ok"
    )

    await house.runner.run(house.request())

    assert most == 1


async def test_what_the_model_gets_wrong_it_is_told_and_can_mend(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.tool("shout", lambda call: call.arguments["text"].upper(), parameters=TEXT)
    openai_server.queue(
        [
            {"tool_call": {"name": "shout", "arguments": '{"text": ', "id": "a"}},
            {"tool_call": {"name": "shuot", "arguments": {"text": "x"}, "id": "b"}},
            {"tool_call": {"name": "shout", "arguments": {"txt": "x"}, "id": "c"}},
        ],
        [{"tool_call": {"name": "shout", "arguments": {"text": "x"}, "id": "d"}}],
        "ok",
    )

    result = await house.runner.run(house.request())

    assert result.status == "ok"
    results = [entry.message for entry in house.entries() if entry.message and entry.message.tool_call_id]
    assert [message.is_error for message in results] == [True, True, True, False]
    assert "valid JSON" in results[0].text
    assert "did you mean shout" in results[1].text
    assert "text" in results[2].text


async def test_a_failing_model_is_a_result_and_stands_in_the_transcript(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue({"status": 401, "body": {"error": {"message": "no such key"}}}, "better now")

    failed = await house.runner.run(house.request("hello", run_id="r1"))
    mended = await house.runner.run(house.request("again"))

    assert failed.status is RunStatus.ERROR
    assert failed.error is not None
    assert failed.error["code"] == "MODEL_AUTH"
    assert (await house.row("r1"))["state"] == "failed"
    ended = next(entry for entry in house.entries() if entry.data.get("name") == "run_ended")
    assert ended.data["code"] == "MODEL_AUTH"
    assert mended.reply == "better now"
    shown = openai_server.requests()[1]["body"]["messages"]
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "user"]
    assert shown[2]["content"] == "[no answer was given: MODEL_AUTH]"


async def test_the_next_model_answers_when_the_first_cannot(tmp_path: Path, openai_server: OpenAIServer) -> None:
    house = AgentHouse(tmp_path / "home", openai_server.base_url, models={"fallbacks": ["test/other"]})
    openai_server.queue({"status": 500}, "from the other")

    async with standing(house):
        result = await house.runner.run(house.request())

    assert (result.reply, result.model) == ("from the other", "test/other")
    answer = house.entries()[-1]
    assert answer.model == "test/other"
    assert answer.data["failed_models"] == [{"model": "test/model", "reason": "500", "instead": "test/other"}]


async def test_an_empty_answer_is_an_error(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue({"text": ""})

    result = await house.runner.run(house.request())

    assert result.error is not None
    assert result.error["code"] in {"MODEL_EMPTY", "MODEL_FORMAT"}


async def test_a_run_id_runs_once(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "go"}, {"text": "once"}])
    request = house.request("hello", run_id="same")

    both = [asyncio.ensure_future(house.runner.run(request)) for _ in range(2)]
    await house.until(openai_server.requests)
    openai_server.release("go")
    first, second = await asyncio.gather(*both)
    later = await house.runner.run(request)

    assert first.reply == second.reply == later.reply == "once"
    assert len(openai_server.requests()) == 1
    assert house.transcript() == [("user", "hello"), ("assistant", "once")]


async def test_a_run_that_ended_before_the_hub_was_started_is_not_run_again(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url)) as house:
        await house.runner.run(house.request(run_id="r1"))

    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url)) as house:
        again = await house.runner.run(house.request(run_id="r1"))
        waited = await house.runner.wait("r1", 1)

    assert again.reply == "ok"
    assert waited == again
    assert len(openai_server.requests()) == 1


async def test_on_final_is_done_with_the_end_or_not_at_all(house: AgentHouse) -> None:
    seen: list[RunResult] = []

    def on_final(connection: SqlConnection, result: RunResult) -> None:
        connection.execute("INSERT INTO meta(key, value) VALUES ('reply', ?)", (result.reply,))
        seen.append(result)

    def refuse(connection: SqlConnection, _: RunResult) -> None:
        connection.execute("INSERT INTO meta(key, value) VALUES ('reply', 'twice')")

    done = await house.runner.run(house.request(run_id="a", on_final=on_final))
    refused = await house.runner.run(house.request(run_id="b", on_final=refuse))

    assert [result.reply for result in seen] == [done.reply]
    assert refused.status is RunStatus.ERROR
    assert (await house.row("a"))["state"] == "answered"
    assert (await house.row("b"))["state"] == "running"


async def test_on_final_hears_of_failures_too(house: AgentHouse) -> None:
    seen: list[RunResult] = []

    await house.runner.run(house.request(agent_id="nobody", on_final=lambda _, result: seen.append(result)))

    assert seen[0].error is not None
    assert seen[0].error["code"] == "NOT_FOUND"


async def test_an_announced_run_keeps_its_row(house: AgentHouse) -> None:
    request = house.request(run_id="r1", kind="message", inbox_id="i1")

    await house.db.write(lambda connection: house.runner.insert_queued(connection, request))
    queued = await house.row("r1")
    result = await house.runner.run(request)

    assert (queued["state"], queued["kind"], queued["inbox_id"]) == ("queued", "message", "i1")
    assert result.status == "ok"
    row = await house.row("r1")
    assert row["state"] == "answered"
    assert row["created_ms"] == queued["created_ms"]
    assert house.entries()[0].inbox_id == "i1"


async def test_messages_of_one_session_wait_for_each_other_in_order(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue(*[f"answer {n}" for n in range(5)])

    await asyncio.gather(*(house.runner.run(house.request(f"message {n}")) for n in range(5)))

    assert house.transcript() == [
        pair for n in range(5) for pair in (("user", f"message {n}"), ("assistant", f"answer {n}"))
    ]


async def test_an_ephemeral_run_leaves_no_session_but_a_row(house: AgentHouse, openai_server: OpenAIServer) -> None:
    history = (user_message("my name is Ada"),)
    openai_server.queue("Hello Ada")

    result = await house.runner.run(
        house.request("say hello", run_id="r1", session="agent:main:api:direct:x", history=history)
    )
    await house.db.write(lambda _: None)

    assert result.reply == "Hello Ada"
    assert house.sessions.list() == []
    assert (await house.row("r1"))["state"] == "answered"
    (sent,) = openai_server.requests()
    assert sent["body"]["messages"][1]["content"].startswith("my name is Ada")


async def test_a_run_that_was_just_asked_for_can_be_waited_for(house: AgentHouse) -> None:
    running = [asyncio.ensure_future(house.runner.run(house.request(run_id=f"r{number}"))) for number in range(9)]
    await asyncio.sleep(0)

    waited = await house.runner.wait("r8", 20)

    assert waited == (await asyncio.gather(*running))[-1]


async def test_who_does_not_wait_hears_at_once_how_a_run_ended(tmp_path: Path, openai_server: OpenAIServer) -> None:
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url)) as house:
        await house.runner.run(house.request(run_id="r1", kind="message"))
        before = await house.runner.wait("r1", 0)

    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url)) as again:
        after = await again.runner.wait("r1", 0)
        await again.db.write(lambda conn: again.runner.insert_queued(conn, again.request(run_id="r2", kind="message")))
        with pytest.raises(NotFound):
            await again.runner.wait("unknown", 0)

        assert (before and before.status, after and after.status) == (RunStatus.OK, RunStatus.OK)
        assert await again.runner.wait("r2", 0) is None


async def test_waiting_for_a_run(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "go"}, {"text": "there"}])
    request = house.request(run_id="r1", kind="message")
    await house.db.write(lambda connection: house.runner.insert_queued(connection, request))

    waiting = asyncio.ensure_future(house.runner.wait("r1", 20))
    assert await house.runner.wait("r1", 0.01) is None
    running = asyncio.ensure_future(house.runner.run(request))
    await house.until(openai_server.requests)
    assert await house.runner.wait("r1", 0.01) is None
    openai_server.release("go")

    assert (await waiting) is not None
    assert (await waiting) == await running
    with pytest.raises(NotFound):
        await house.runner.wait("unknown", 1)


async def test_usage_is_counted_for_session_and_history(house: AgentHouse, openai_server: OpenAIServer) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    house.tool("look", lambda _: "seen")
    openai_server.queue(
        [{"tool_call": {"name": "look", "arguments": {}, "id": "a"}}, {"usage": usage}],
        [{"text": "ok"}, {"usage": usage}],
    )

    result = await house.runner.run(house.request())

    assert result.usage.total_tokens == 210
    assert await house.usage() == [("test/model", 105)] * 2
    session = house.sessions.get(MAIN)
    assert session is not None
    assert (session.usage.total_tokens, session.turns) == (210, 2)


async def test_a_tool_shows_what_there_is_of_its_result_until_it_has_ended(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.redactor.register("password-of-the-boat")
    calls: list[ToolCall] = []

    def build(call: ToolCall) -> str:
        calls.append(call)
        call.update("half of password-of-the-boat")
        return "a boat"

    house.tool("build", build)
    openai_server.queue([{"tool_call": {"name": "build", "arguments": {}}}], "done")

    await house.runner.run(house.request("build a boat"))
    calls[0].update("too late")

    (told,) = house.told("run_tool_updated")
    assert told["name"] == "build"
    assert told["output"].startswith("half of ")
    assert "password" not in told["output"]


async def test_a_secret_in_a_tools_result_reaches_neither_model_nor_disk(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.redactor.register("hunter2hunter2")
    house.tool("look", lambda _: "the password is hunter2hunter2")
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "a"}}], "ok")

    await house.runner.run(house.request())

    assert "hunter2hunter2" not in str(openai_server.requests()[1]["body"])
    assert all("hunter2hunter2" not in text for _, text in house.transcript())


async def test_the_model_can_be_chosen_by_request_session_and_agent(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    house = AgentHouse(tmp_path / "home", openai_server.base_url, [{"id": "main", "model": "test/of-agent"}])

    async with standing(house):
        by_agent = await house.runner.run(house.request())
        await house.sessions.patch(MAIN, model="test/of-session")
        by_session = await house.runner.run(house.request())
        by_request = await house.runner.run(house.request(model="test/of-request"))

    assert [each.model for each in (by_agent, by_session, by_request)] == [
        "test/of-agent",
        "test/of-session",
        "test/of-request",
    ]


async def test_active_runs_are_listed(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "go"}, {"text": "a"}])
    ids = [new_id(), new_id()]

    runs = [asyncio.ensure_future(house.runner.run(house.request(run_id=id))) for id in ids]
    await house.until(openai_server.requests)
    listed = house.runner.active()
    openai_server.release("go")
    await asyncio.gather(*runs)

    assert [(run.run_id, run.state, run.model) for run in listed] == [
        (ids[0], "running", "test/model"),
        (ids[1], "queued", None),
    ]
    assert house.runner.active() == []


async def test_the_last_words_of_a_run_are_kept_with_what_else_is_to_be_done_then_or_not_yet(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.queue("all is well")
    tries: list[list[tuple[str, str]]] = []
    takes_nothing = True

    def on_final(connection: SqlConnection, _: RunResult) -> None:
        tries.append(house.transcript())  # as another connection sees it: without what is not committed
        if takes_nothing:
            connection.execute("INSERT INTO an_outbox_that_takes_nothing VALUES (1)")

    request = house.request(run_id="r1", kind="message", on_final=on_final)
    failed = await house.runner.run(request)
    takes_nothing = False
    result = await house.runner.run(request)

    whole = [("user", "hello"), ("assistant", "all is well")]
    assert failed.status is RunStatus.ERROR
    assert (result.reply, house.transcript()) == ("all is well", whole)
    assert tries[0] == (whole if house.form == "file" else whole[:1])
    assert (await house.row("r1"))["state"] == "answered"


async def test_an_answer_that_the_disk_did_not_take_is_an_error_and_its_row_says_so(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    if house.form == "table":
        pytest.skip("there is no disk but that of the database")
    openai_server.queue("all is well")
    session = await house.sessions.ensure("agent:main:main")
    path = transcript_file(house.sessions, session)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/null")  # takes every line, and cannot be synced

    result = await house.runner.run(house.request(run_id="r1"))

    assert result.status is RunStatus.ERROR
    assert result.error is not None
    assert "cannot be synced" in result.error["message"]
    assert (await house.row("r1"))["state"] == "failed"


async def test_the_row_of_a_run_is_on_disk_before_its_first_tool_is_started(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    seen: list[str] = []

    async def look(_: object) -> str:
        seen.append((await house.row("r1"))["state"])
        return "seen"

    house.tool("look", look)
    openai_server.queue([{"tool_call": {"name": "look", "arguments": {}, "id": "a"}}], "ok")

    await house.runner.run(house.request(run_id="r1"))

    assert seen == ["running"]
