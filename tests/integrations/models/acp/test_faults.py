"""Programs that fail: each fault is a clear error that names the key, and the next message is answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub.agent.run_request import RunStatus
from tests.agent.house import AgentHouse, standing
from tests.integrations.models.acp.acp_house import DOUBLE, AcpHouse
from tests.until import skip_time


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--exit"], ["(acp.agents.double) ended by itself (exit code 2): no licence"]),
        (["--version", "2"], ["version 2", "acp.agents.double.command"]),
        (["--garbage"], ["'Welcome!'", "acp.agents.double.command"]),
        (["--signed-out"], ["Authentication required", "acp.agents.double.auth_method"]),
    ],
)
async def test_a_program_that_does_not_begin(house: AcpHouse, options: list[str], words: list[str]) -> None:
    await house.offer(*options)

    result = await house.ask("greet me")

    assert all(each in (result.error or {})["message"] for each in words), result.error
    await house.offer()
    assert (await house.ask("greet me")).status is RunStatus.OK


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"command": ["no-such-program"]}, "acp.agents.double.command: there is no program no-such-program"),
        ({"command": ["/etc/passwd"]}, "acp.agents.double.command: there is no program /etc/passwd"),
        ({"folder": "/no/such/folder"}, "acp.agents.double.folder: there is no folder /no/such/folder"),
        ({"folder": "/"}, "acp.agents.double.folder: / overlaps with"),
        ({"auth_method": "browser"}, "acp.agents.double.auth_method: double does not offer browser; it offers key"),
    ],
)
async def test_a_configuration_that_does_not_fit_the_machine(house: AcpHouse, keys: dict[str, Any], words: str) -> None:
    await house.offer(**keys)

    assert words in ((await house.ask("greet me")).error or {})["message"]


async def test_it_works_in_no_folder_of_the_hub(house: AcpHouse) -> None:
    (inside := house.home.workspace / "project").mkdir(parents=True)
    link = house.project / "link"
    link.symlink_to(inside)
    await house.offer(folder=str(link))

    assert f"overlaps with {house.home.path}" in ((await house.ask("greet me")).error or {})["message"]


async def test_it_signs_in_as_configured(house: AcpHouse) -> None:
    await house.offer(auth_method="key")

    assert (await house.ask("greet me")).status is RunStatus.OK
    assert house.sent("authenticate") == [{"methodId": "key"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("crash", "exit code 3): " + "x" * 100),
        ("garbage", "'Segmentation fault'"),
        ("line", "a line of over"),
        ("flood", "more than 1000000 characters"),
        ("hang", "said nothing for 60 s and was stopped (acp.agents.double.timeout_s)"),
    ],
)
async def test_a_program_that_fails_is_not_asked_twice(house: AcpHouse, text: str, words: str) -> None:
    await house.offer(timeout_s=60)

    running = asyncio.ensure_future(house.ask(text))
    if text == "hang":
        await house.until(lambda: house.told("run_delta"))
        skip_time(60)
    result = await running

    assert words in (result.error or {})["message"]
    assert (result.error or {})["code"] == "MODEL_PROGRAM"
    assert len(house.sent("session/prompt")) == 1
    await house.offer()
    assert (await house.ask("greet me")).reply.endswith("Hello number 1.")


async def test_the_end_of_its_errors_is_shown(house: AcpHouse) -> None:
    assert ((await house.ask("crash")).error or {})["message"].endswith("x out of luck")


async def test_a_message_that_a_program_was_given_is_not_given_again_after_a_restart(tmp_path: Path) -> None:
    async with standing(AcpHouse(tmp_path)) as house:
        running = asyncio.ensure_future(
            house.runner.run(house.request("hang", run_id="r1", kind="message", model=DOUBLE))
        )
        await house.until(lambda: house.told("run_delta"))
    with pytest.raises(asyncio.CancelledError):
        await running

    async with standing(AgentHouse(tmp_path / "home", "http://127.0.0.1:9")) as again:
        recovered = await again.runner.recover()

    assert (recovered.rerun, recovered.interrupted) == ((), ("r1",))


async def test_another_model_is_not_asked_in_its_place(house: AcpHouse) -> None:
    house.models.configure({"default": "offline", "fallbacks": ["offline/homarus"], "retry": {"attempts": 3}})

    result = await house.ask("crash")

    assert result.status is RunStatus.ERROR
    assert len(house.sent("session/prompt")) == 1
