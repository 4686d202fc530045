"""What the simulation of many homes counts, so that its zeros mean something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import aiohttp
import pytest

from tests.benchmarks.cluster_world import FIRST_BOT, Account, Bot, World
from tests.until import until


def bot(answers: Sequence[int], asked: Sequence[int]) -> Bot:
    """Return a bot to which three messages were said."""
    made = Bot(1)
    for _ in range(3):
        made.say()
    for number in asked:
        made.messages[number - 1].model_s.append(0.0)
    for number in answers:
        made.show(f"answer #{number}")
    return made


@pytest.mark.parametrize(
    ("answers", "asked", "counted"),
    [
        ([1, 2, 3], [1, 2, 3], (0, 0, 0, 0)),
        ([1, 3], [1, 2, 3], (1, 0, 0, 0)),
        ([1, 2, 2, 3, 3, 3], [1, 2, 3], (0, 3, 0, 0)),
        ([2, 1, 3], [1, 2, 3], (0, 0, 1, 0)),
        ([1, 2, 3, 1], [1, 2, 3], (0, 1, 0, 0)),
        ([1, 2, 3], [1, 1, 2, 3, 3], (0, 0, 0, 2)),
        ([], [], (3, 0, 0, 0)),
    ],
)
def test_what_was_lost_doubled_and_turned_around_is_counted(
    answers: list[int], asked: list[int], counted: tuple[int, int, int, int]
) -> None:
    found = Account.of([bot(answers, asked)])

    assert (len(found.lost), found.twice, found.out_of_order, found.begun_again) == counted
    assert (found.said, found.answered) == (3, 3 - counted[0])


async def test_an_update_comes_again_until_it_is_confirmed() -> None:
    async with World(1, (0, 0)) as world, aiohttp.ClientSession() as session:
        first = world.bots[0]
        first.say()
        root = world.configuration(1).partition("api_root: '")[2].partition("'")[0]

        async def updates(offset: int) -> list[int]:
            async with session.post(
                f"{root}/bot{FIRST_BOT + 1}:x/getUpdates", json={"offset": offset, "timeout": 0}
            ) as answer:
                return [each["update_id"] for each in (await answer.json())["result"]]

        assert await updates(0) == await updates(0) == [1]
        assert await updates(2) == []
        assert await updates(0) == []


async def test_a_message_that_is_held_shows_when_it_is_let_go_even_when_its_sender_is_gone() -> None:
    async with World(1, (0, 0)) as world, aiohttp.ClientSession() as session:
        first = world.bots[0]
        first.say()
        root = world.configuration(1).partition("api_root: '")[2].partition("'")[0]
        wanted = asyncio.create_task(world.hold_send())
        await asyncio.sleep(0)  # it waits from here on

        send = session.post(f"{root}/bot{FIRST_BOT + 1}:x/sendMessage", json={"chat_id": 7, "text": "answer #1"})
        sending = asyncio.create_task(send.__aenter__())
        held = await wanted
        sending.cancel()
        await asyncio.wait([sending])
        assert (held.bot, first.answers) == (first, [])

        held.shown.set()
        await until(lambda: first.answers == [1])
