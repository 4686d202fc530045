"""Stopping a run at any point: it ends soon, its transcript is whole, and what was said until then is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.agent.run_request import RunStatus
from hub.sessions.repair import pending_calls
from tests.agent.house import CHANGING, MAIN, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer


@pytest.fixture(params=["file", "table"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def whole(house: AgentHouse) -> bool:
    return not pending_calls([entry.message for entry in house.entries() if entry.message is not None])


async def test_in_the_middle_of_an_answer(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "It is "}, {"hold": "never"}, {"text": "fine."}], "ok")

    running = asyncio.ensure_future(house.runner.run(house.request("how?", run_id="r1")))
    await house.until(lambda: house.told("run_delta"))
    stopped = house.runner.abort(run_id="r1")
    result = await running
    await house.runner.run(house.request("and?"))

    assert stopped == ["r1"]
    assert (result.status, result.reply, result.stop) == (RunStatus.ABORTED, "It is", "aborted")
    assert house.transcript()[:2] == [("user", "how?"), ("assistant", "It is ")]
    assert next(entry for entry in house.entries() if entry.data.get("status") == "aborted").message is not None
    assert (await house.row("r1"))["state"] == "aborted"
    shown = openai_server.requests()[1]["body"]["messages"]
    assert shown[2]["content"] == "It is \n[stopped here by the user]"
    assert await openai_server.until_ended(0) == "disconnected"


async def test_before_the_model_said_anything(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "never"}], "ok")

    running = asyncio.ensure_future(house.runner.run(house.request(run_id="r1")))
    await house.until(openai_server.requests)
    house.runner.abort(session_key=MAIN)
    result = await running
    await house.runner.run(house.request("again"))

    assert result.status is RunStatus.ABORTED
    assert [role for role, _ in house.transcript()] == ["user", "user", "assistant"]
    assert openai_server.requests()[1]["body"]["messages"][2]["content"] == "[stopped here by the user]"


@pytest.mark.parametrize("names", [["slow"], ["quick", "slow", "quick"], ["slow", "change"]])
async def test_in_the_middle_of_tools(house: AgentHouse, openai_server: OpenAIServer, names: list[str]) -> None:
    cancelled: list[str] = []

    async def slow(_: object) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("slow")
            raise
        return "never"

    house.tool("slow", slow)
    house.tool("quick", lambda _: "quick result")
    house.tool("change", lambda _: "changed", CHANGING)
    calls = [{"tool_call": {"name": name, "arguments": {}, "id": f"c{at}"}} for at, name in enumerate(names)]
    openai_server.queue(calls)

    running = asyncio.ensure_future(house.runner.run(house.request(run_id="r1")))
    quick = names.count("quick")
    await house.until(lambda: len(house.told("run_tool_finished")) >= quick and house.told("run_tool_started"))
    house.runner.abort(run_id="r1")
    result = await running

    assert result.status is RunStatus.ABORTED
    assert cancelled == ["slow"]
    assert whole(house)
    results = [entry.message for entry in house.entries() if entry.message and entry.message.tool_call_id]
    assert [message.tool_call_id for message in results] == [f"c{at}" for at in range(len(names))]
    assert [message.is_error for message in results] == [name != "quick" for name in names]


async def test_while_it_waits_for_its_turn(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "go"}, {"text": "first"}])

    first = asyncio.ensure_future(house.runner.run(house.request("one", run_id="r1")))
    await house.until(openai_server.requests)
    second = asyncio.ensure_future(house.runner.run(house.request("two", run_id="r2")))
    await house.until(lambda: len(house.runner.active()) == 2)
    house.runner.abort(run_id="r2")
    result = await second
    openai_server.release("go")

    assert result.status is RunStatus.ABORTED
    assert (await first).reply == "first"
    assert (await house.row("r2"))["state"] == "aborted"
    assert house.transcript() == [("user", "one"), ("assistant", "first")]
    assert [data["status"] for data in house.told("run_finished")] == ["aborted", "ok"]


async def test_before_its_first_step(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue("never asked")

    running = asyncio.ensure_future(house.runner.run(house.request("one", run_id="r1")))
    while not house.runner.active():  # noqa: ASYNC110  the very moment at which it is there
        await asyncio.sleep(0)
    stopped = house.runner.abort(run_id="r1")
    result = await running

    assert stopped == ["r1"]
    assert result.status is RunStatus.ABORTED
    assert house.runner.active() == []
    assert (await house.row("r1"))["state"] == "aborted"
    assert [data["status"] for data in house.told("run_finished")] == ["aborted"]
    assert openai_server.requests() == []


async def test_a_whole_conversation_with_what_waits_in_it(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "never"}])

    runs = [asyncio.ensure_future(house.runner.run(house.request(run_id=f"r{n}"))) for n in range(3)]
    await house.until(openai_server.requests)
    await house.until(lambda: len(house.runner.active()) == len(runs))
    other = asyncio.ensure_future(house.runner.run(house.request(session="agent:main:webchat:direct:x")))
    assert house.runner.abort() == []  # which names nothing
    stopped = house.runner.abort(session_key=MAIN)
    results = await asyncio.gather(*runs)

    assert stopped == ["r0", "r1", "r2"]
    assert {result.status for result in results} == {RunStatus.ABORTED}
    assert (await other).status is RunStatus.OK


async def test_a_run_that_has_ended_cannot_be_stopped(house: AgentHouse) -> None:
    await house.runner.run(house.request(run_id="r1"))

    assert house.runner.abort(run_id="r1") == []


async def test_cancelling_who_waits_leaves_the_run_going(house: AgentHouse, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"hold": "go"}, {"text": "there"}])

    waiting = asyncio.ensure_future(house.runner.run(house.request(run_id="r1")))
    await house.until(openai_server.requests)
    waiting.cancel()
    openai_server.release("go")
    result = await house.runner.wait("r1", 20)

    assert result is not None
    assert result.reply == "there"


@pytest.mark.parametrize("tool", ["look", "change"])
async def test_the_hubs_stop_leaves_a_whole_transcript_and_an_open_run(
    tmp_path: Path, openai_server: OpenAIServer, tool: str
) -> None:
    async def forever(_: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    openai_server.queue([{"tool_call": {"name": tool, "arguments": {}, "id": "a"}}], "done at last")
    house = AgentHouse(tmp_path / "home", openai_server.base_url)
    house.tool("look", forever)
    house.tool("change", forever, CHANGING)
    async with standing(house):
        request = house.request(run_id="r1", kind="message")
        running = asyncio.ensure_future(house.runner.run(request))
        await house.until(lambda: house.told("run_tool_started"))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert whole(house)

    again = AgentHouse(tmp_path / "home", openai_server.base_url)
    again.tool("look", lambda _: "seen")
    again.tool("change", lambda _: "changed", CHANGING)
    async with standing(again):
        recovered = await again.runner.recover()
        row = await again.row("r1")

    assert (recovered.rerun, recovered.interrupted) == ((("r1",), ()) if tool == "look" else ((), ("r1",)))
    assert row["state"] == ("queued" if tool == "look" else "interrupted")
