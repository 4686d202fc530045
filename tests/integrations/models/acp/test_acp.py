"""Programs that answer for an agent: what they are given, what is made of what they say, and when they end."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from hub.agent.run_request import RunStatus
from hub.core.clock import ManualClock
from hub.models.contract import Image, Message, Role, TextBlock
from hub.sessions.keys import direct_key
from integrations.models.acp.provider import RUNNING_LIMIT
from tests.agent.house import MAIN
from tests.agent.scripted_model import ScriptedModel
from tests.integrations.models.acp.acp_house import AcpHouse
from tests.processes import runs
from tests.until import as_time_passes


async def test_what_a_program_says_is_the_answer_and_what_it_does_is_shown_as_thinking(house: AcpHouse) -> None:
    result = await house.ask("greet me")

    assert (result.status, result.model) == (RunStatus.OK, "acp/double")
    assert result.reply == "Looking.\n\nHello number 1."
    thinking = "".join(each["text"] for each in house.told("run_thinking"))
    assert thinking == "Let me see.\n[Read notes.txt]\n\n[failed]\n"


async def test_it_is_offered_no_files_and_no_terminal_and_gets_nothing_but_the_message(house: AcpHouse) -> None:
    result = await house.ask("files")
    await house.ask("show this")

    [began] = house.sent("initialize")
    assert began["protocolVersion"] == 1
    offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert began["clientCapabilities"] == offered
    assert result.reply == "-32601"
    prompts = [each["prompt"] for each in house.sent("session/prompt")]
    assert prompts == [[{"type": "text", "text": "files"}], [{"type": "text", "text": "show this"}]]


async def test_a_conversation_keeps_its_program_until_it_begins_again(house: AcpHouse) -> None:
    await house.ask("greet me")
    again = await house.ask("greet me")
    await house.sessions.reset(MAIN)
    new = await house.ask("greet me")

    assert again.reply.endswith("number 2.")
    assert new.reply == "Looking.\n\nHello number 1."
    assert len(house.sent("initialize")) == 2


async def test_what_it_says_counts_as_words_from_outside_and_it_is_asked_on(house: AcpHouse) -> None:
    result = await house.ask("greet me")
    again = await house.ask("greet me")

    assert result.tainted
    assert again.status is RunStatus.OK
    said = [entry for entry in house.entries() if entry.message and entry.message.role is Role.ASSISTANT]
    assert [(entry.provenance.trusted, entry.provenance.derived) for entry in said] == [(False, True)] * 2
    await house.until(lambda: (session := house.sessions.get(MAIN)) is not None and session.tainted)


async def test_no_shell_reads_its_command_and_it_sees_few_variables(
    house: AcpHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMARUS_SECRET", "mine")
    await house.offer("$(id)", "; true", environment={"API_KEY": "key"})

    told = json.loads((await house.ask("where")).reply)

    assert told["folder"] == str(house.project)
    assert told["argv"][-2:] == ["$(id)", "; true"]
    assert "API_KEY" in told["seen"]
    assert "HOMARUS_SECRET" not in told["seen"]
    assert set(told["seen"]) <= {
        "API_KEY",
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "USER",
        "LOGNAME",
    }


@pytest.mark.parametrize(("options", "seen"), [((), "show|[An image was here.]"), (("--images",), "show|image")])
async def test_images_go_to_programs_that_see_them(house: AcpHouse, options: tuple[str, ...], seen: str) -> None:
    await house.offer(*options)
    request = house.asking("show")
    message = Message(Role.USER, (TextBlock("show"), Image("image/png", "AAAA")))

    result = await house.runner.run(replace(request, message=message))

    assert result.reply == seen


async def test_stopping_an_answer_ends_the_program_and_all_that_it_started(house: AcpHouse) -> None:
    request = house.asking("hang")
    running = house.tasks.spawn(house.runner.run(request), name="ask")
    await house.until(lambda: house.told("run_delta"))
    pids = [int(each) for each in house.told("run_delta")[0]["text"].split()]
    assert all(runs(pid) for pid in pids)

    house.runner.abort(request.run_id)
    result = await running

    assert result.status is RunStatus.ABORTED
    await house.until(lambda: not any(runs(pid) for pid in pids))


async def test_a_program_that_nobody_asks_ends_with_all_that_it_started(house: AcpHouse) -> None:
    assert isinstance(house.clock, ManualClock)
    pids = [int(each) for each in (await house.ask("child")).reply.split()]
    await house.clock.advance(14 * 60)
    assert all(runs(pid) for pid in pids)

    await as_time_passes(house.clock, 2 * 60, lambda: not any(runs(pid) for pid in pids))


async def test_the_hub_ends_its_programs_when_it_stops(house: AcpHouse) -> None:
    pids = [int(each) for each in (await house.ask("child")).reply.split()]

    await house.models.close()

    await house.until(lambda: not any(runs(pid) for pid in pids))


async def test_a_program_that_was_started_again_says_so_once(house: AcpHouse) -> None:
    await house.ask("greet me")
    failed = await house.ask("crash")

    told = await house.ask("greet me")
    after = await house.ask("greet me")

    assert failed.status is RunStatus.ERROR
    fresh = "(double was started and does not know what was said here before.)\n\n"
    assert told.reply == f"{fresh}Looking.\n\nHello number 1."
    assert after.reply == "Looking.\n\nHello number 2."


async def test_a_program_that_can_takes_its_conversation_up_again(house: AcpHouse) -> None:
    await house.offer("--load")
    await house.ask("greet me")
    await house.ask("crash")

    told = await house.ask("greet me")

    assert told.reply == "Looking.\n\nHello number 1."
    [loaded] = house.sent("session/load")
    assert loaded["sessionId"] == house.sent("session/prompt")[0]["sessionId"]


async def test_programs_that_wait_make_room(house: AcpHouse) -> None:
    pids = []
    for number in range(RUNNING_LIMIT + 1):
        reply = (await house.ask("child", session=direct_key("main", f"c{number}"))).reply
        pids.append(int(reply.split()[0]))

    await house.until(lambda: not runs(pids[0]))
    assert all(runs(pid) for pid in pids[1:])


async def test_it_is_never_chosen_unless_it_is_named(house: AcpHouse) -> None:
    house.models.configure({"default": "offline/homarus", "fallbacks": ["acp/double"]})
    house.models.register_api("offline", lambda name, _: ScriptedModel())

    assert [each.ref for each in await house.models.candidates()] == ["offline/homarus"]
    assert (await house.models.resolve("acp")).ref == "acp/double"
    assert [info.ref for info in await house.models.list() if info.program] == ["acp/double"]
