from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.core.sql import SqlConnection
from hub.messaging.contract import Address, ButtonPressed, ChannelLimits, Delivery, DeliveryState, OutboundMessage
from hub.messaging.texts import say
from tests.channels.kit import HurriedClock
from tests.messaging.post import Pigeons, Post
from tests.servers.openai_server import OpenAIServer
from tests.until import until

TOLD, RESEND = say("unsure.told"), say("unsure.resend")
Start = Callable[["Losing"], Awaitable[Post]]


def never(text: str) -> bool:
    return False


@dataclass
class Losing(Pigeons):
    """A platform whose acknowledgements are lost as a test says: of the texts that `loses` accepts."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(text=400, buttons=3))
    loses: Callable[[str], bool] = never

    async def send(self, message: OutboundMessage) -> Delivery:
        delivery = await super().send(message)
        return Delivery(DeliveryState.UNKNOWN, error="cut off") if self.loses(message.text) else delivery

    async def presses(self, label: str, id: str = "press") -> None:
        """Let the owner press the newest button with a label."""
        assert self.receive is not None
        buttons = [button for sent in self.sent for row in sent.buttons for button in row if button.label == label]
        await self.receive(
            ButtonPressed(Address("test", "7"), id, "test:user:7", message_id="1", value=buttons[-1].value)
        )


def copies_of_the_lost(connection: SqlConnection) -> None:
    """Write each answer that may not have arrived two hundred times more."""
    names = [column[0] for column in connection.execute("SELECT * FROM outbox LIMIT 1").description]
    columns = ", ".join(name for name in names if name not in ("position", "id", "home"))
    copy = f"INSERT INTO outbox(id, {columns}) SELECT ?, {columns} FROM outbox WHERE state = 'unknown' LIMIT 1"
    connection.executemany(copy, [(f"old {number}",) for number in range(200)])


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
async def start(tmp_path: Path, openai_server: OpenAIServer, clock: HurriedClock) -> AsyncIterator[Start]:
    started: list[Post] = []
    for word in ("one", "two", "three", "four"):
        openai_server.rule(rf"{word}\Z", word)

    async def start(platform: Losing) -> Post:
        if started:
            await started[-1].close()
        started.append(Post(tmp_path / "home", openai_server.base_url, platform, clock=clock))
        await started[-1].open()
        assert platform.receive is not None
        platform.receive.identified("id")
        platform.receive.connected()
        # What the connection makes it tell is read before anything else happens.
        await until(lambda: "tell of unsure answers" not in {task.get_name() for task in asyncio.all_tasks()})
        return started[-1]

    yield start
    await started[-1].close()


async def test_answers_that_were_lost_are_told_once_and_come_again_in_order(start: Start) -> None:
    platform = Losing(loses=lambda text: text != TOLD)
    post = await start(platform)
    await post.said("one")
    await post.until(lambda: platform.texts() == ["one", TOLD])
    platform.loses = lambda text: text == "two"
    await post.said("two")
    await post.until(lambda: platform.texts() == ["one", TOLD, "two", TOLD])

    platform.loses = never
    await platform.presses(RESEND, "first")
    await post.until(lambda: platform.texts()[4:] == ["one", "two"])
    await platform.presses(RESEND, "second")

    await post.until(lambda: platform.texts()[6:] == [say("unsure.nothing")])
    assert post.repairs.all() == []


async def test_one_notice_stands_for_all_that_were_lost_before_it(start: Start) -> None:
    platform = Losing(loses=lambda text: True)
    post = await start(platform)
    await post.said("one")
    await post.until(lambda: platform.texts().count(TOLD) == 3)  # it is said no more then
    for text in ("two", "three"):
        await post.said(text)
        await post.until(lambda text=text: text in platform.texts())  # type: ignore[misc]
    await post.until_counts(unknown=4)

    platform.loses = never
    await post.said("four")

    await post.until(lambda: platform.texts()[-2:] == ["four", TOLD])
    await post.until_counts(unknown=3, sent=2)


async def test_a_notice_of_which_nobody_knows_is_said_three_times(start: Start, clock: HurriedClock) -> None:
    platform = Losing(loses=lambda text: True)
    post = await start(platform)
    await post.said("one")
    await post.until(lambda: platform.texts().count(TOLD) == 3)

    for _ in range(3):
        assert platform.receive is not None
        platform.receive.disconnected("gone")
        platform.receive.identified("id")
        platform.receive.connected()
    await post.until_counts(unknown=2)

    assert platform.texts() == ["one", TOLD, TOLD, TOLD]
    assert sorted(wait for wait in clock.waits if wait >= 30) == [60.0, 600.0]


async def test_one_that_is_lost_after_very_many_is_told_too(start: Start) -> None:
    platform = Losing(loses=lambda text: text != TOLD)
    post = await start(platform)
    await post.said("one")
    await post.until(lambda: platform.texts() == ["one", TOLD])
    await post.db.write(copies_of_the_lost)

    await post.said("two")

    await post.until(lambda: platform.texts() == ["one", TOLD, "two", TOLD])


async def test_what_is_lost_again_is_told_again(start: Start) -> None:
    platform = Losing(loses=lambda text: text == "one")
    post = await start(platform)
    await post.said("one")
    await post.until(lambda: platform.texts() == ["one", TOLD])

    await platform.presses(RESEND)

    await post.until(lambda: platform.texts() == ["one", TOLD, "one", TOLD])


async def test_what_a_crash_left_open_is_told_at_the_next_start_and_at_no_other(start: Start) -> None:
    post = await start(Losing())
    await post.said("one")
    await post.until_counts(sent=1)
    await post.db.write(lambda connection: connection.execute("UPDATE outbox SET state = 'sending'"))

    platform = Losing()
    post = await start(platform)
    await post.until(lambda: platform.texts() == [TOLD])
    await post.until_counts(unknown=1, sent=1)
    platform = Losing()
    post = await start(platform)
    await post.said("two")
    await post.until(lambda: platform.texts() == ["two"])
    await post.said("/resend")

    await post.until(lambda: platform.texts() == ["two", "one"])


async def test_a_stop_between_a_lost_answer_and_its_notice_leaves_the_notice_to_the_next_start(start: Start) -> None:
    post = await start(Losing())
    await post.said("one")
    await post.until_counts(sent=1)
    lost = "UPDATE outbox SET state = 'unknown', error = 'cut off'"
    await post.db.write(lambda connection: connection.execute(lost))

    platform = Losing()
    post = await start(platform)

    await post.until(lambda: platform.texts() == [TOLD])


async def test_what_the_hub_says_itself_is_no_answer(start: Start) -> None:
    platform = Losing(loses=lambda text: True)
    post = await start(platform)
    await post.said("/whoami")
    await post.until_counts(unknown=1)
    platform.loses = never
    await post.said("one")

    await post.until(lambda: platform.texts()[1:] == ["one"])


async def test_the_notice_is_in_the_language_of_the_home_and_names_the_command_without_buttons(start: Start) -> None:
    platform = Losing(limits=ChannelLimits(text=400), loses=lambda text: text == "one")
    post = await start(platform)
    post.settings = replace(post.settings, language="zh-CN")
    await post.said("one")

    await post.until(lambda: platform.texts() == ["one", say("unsure.told_plain", "zh-CN")])
    assert "/resend" in platform.texts()[1]
