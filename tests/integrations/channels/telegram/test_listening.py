"""Listening to Telegram: nothing is confirmed that is not stored, and every failure is waited out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import Unavailable
from hub.messaging.contract import Address, ButtonPressed, Inbound, InboundMessage, OutboundMessage, Receipt
from integrations.channels.telegram.channel import Telegram
from integrations.channels.telegram.listener import CONFLICT_LIMIT_S, REFUSED_S, PollTiming
from tests.channels.kit import Heard, HurriedClock
from tests.channels.telegram_rig import telegram_channel
from tests.servers.telegram_chats import Json
from tests.servers.telegram_server import BAD_GATEWAY, CONFLICT, DRIPS, DROPPED, RATE_LIMITED, Fault, TelegramServer
from tests.until import until

READABLE = {
    "message_id": 5,
    "date": 1,
    "text": "a secret",
    "from": {"id": 7, "is_bot": False, "first_name": "Ada"},
    "chat": {"id": 7, "type": "private"},
}


class Picky(Heard):
    """A receiver that cannot store what is said in some chats, for so many times."""

    def __init__(self, refused: dict[str, int]) -> None:
        super().__init__()
        self.refused = refused

    async def __call__(self, inbound: Inbound) -> Receipt:
        if self.refused.get(inbound.address.peer, 0):
            self.refused[inbound.address.peer] -= 1
            raise Unavailable("the disk is full")
        return await super().__call__(inbound)


def texts(heard: Heard) -> list[str]:
    """What was heard, in order."""
    return [each.text for each in heard.inbound if isinstance(each, InboundMessage)]


async def failing(server: TelegramServer, bot: Telegram, heard: Heard, *faults: Fault) -> None:
    """Let asking fail in these ways, and then go well."""
    server.fail("getUpdates", *faults)
    server.cut_poll()
    await until(lambda: not server.faults_left())
    server.chats.says("after all that")
    await until(lambda: texts(heard) == ["after all that"])


async def test_another_poller_is_waited_for_longer_and_longer(
    server: TelegramServer, bot: Telegram, heard: Heard, clock: HurriedClock
) -> None:
    await failing(server, bot, heard, *[CONFLICT] * 6)

    assert all(15 * 0.7 <= wait <= CONFLICT_LIMIT_S for wait in clock.waits)
    assert clock.waits[-1] > clock.waits[0]
    assert "same token" in heard.errors[0]


async def test_a_network_that_fails_is_tried_less_and_less_often(
    server: TelegramServer, bot: Telegram, heard: Heard, clock: HurriedClock
) -> None:
    await failing(server, bot, heard, *[BAD_GATEWAY, DROPPED] * 4)

    assert clock.waits[0] <= 1
    assert max(clock.waits) <= 60
    assert clock.waits[-1] > 30


async def test_telegram_says_how_long_to_wait(
    server: TelegramServer, bot: Telegram, heard: Heard, clock: HurriedClock
) -> None:
    await failing(server, bot, heard, Fault(429, "Too Many Requests: retry after 35", {"retry_after": 35}))

    assert clock.waits == [35]


async def test_a_refused_token_takes_a_person_and_works_again_once_it_is_valid(
    server: TelegramServer, bot: Telegram, heard: Heard, clock: HurriedClock
) -> None:
    token, server.token = server.token, "1:another"
    server.cut_poll()
    await until(lambda: REFUSED_S in clock.waits)
    assert "@BotFather" in heard.errors[0]

    server.token = token
    server.chats.says("are you back?")

    await until(lambda: texts(heard) == ["are you back?"])


async def test_the_webhook_of_an_earlier_configuration_is_ended_and_loses_nothing(
    server: TelegramServer, bot: Telegram, heard: Heard
) -> None:
    server.webhook = {"url": "https://elsewhere.example.org"}  # somebody sets one while the bot is connected
    server.chats.says("said before")
    server.cut_poll()

    await until(lambda: texts(heard) == ["said before"])
    assert server.webhook == {}


async def test_numbers_that_begin_anew_hide_nothing(server: TelegramServer, bot: Telegram, heard: Heard) -> None:
    server.chats.says("before the quiet week")
    await until(lambda: len(server.confirmed) == 2)

    server.begin_ids_at(5)
    server.chats.says("after it")
    server.cut_poll()

    await until(lambda: texts(heard) == ["before the quiet week", "after it"])


async def test_numbers_that_begin_anew_while_telegram_fails_hide_nothing(
    server: TelegramServer, bot: Telegram, heard: Heard
) -> None:
    server.fail("getUpdates", Fault(502, "Bad Gateway", delay_s=0.2))
    server.chats.says("before the quiet week")
    await until(lambda: not server.faults_left())

    server.begin_ids_at(5)
    server.chats.says("after it")

    await until(lambda: "after it" in texts(heard))


async def test_an_answer_that_never_ends_is_given_up(server: TelegramServer, bot: Telegram, heard: Heard) -> None:
    await failing(server, bot, heard, DRIPS)

    assert "did not answer" in heard.errors[0]


async def test_a_chat_that_cannot_be_stored_is_offered_again_and_holds_up_no_other(
    server: TelegramServer, tmp_path: Path, clock: HurriedClock
) -> None:
    heard = Picky({"7": 3})
    server.chats.says("one", chat=7)
    server.chats.says("two", chat=7)
    server.chats.says("beside", chat=8, who=8)
    bot = telegram_channel(server, tmp_path, clock)
    await bot.start(heard)

    await until(lambda: len(server.confirmed) == 3)
    await bot.stop()

    of_seven = [text for text in texts(heard) if text != "beside"]
    assert of_seven == ["one", "two"]
    assert texts(heard)[0] == "beside"
    assert "disk is full" in heard.errors[0]


async def test_nothing_is_confirmed_before_it_is_stored(
    server: TelegramServer, tmp_path: Path, clock: HurriedClock
) -> None:
    heard = Picky({"7": 10**9})
    server.chats.says("hello")
    bot = telegram_channel(server, tmp_path, clock)
    await bot.start(heard)

    await until(lambda: len(heard.errors) > 3)
    await bot.stop()

    assert server.confirmed == []


def nested(depth: int) -> Json:
    """Return a message that replies to one that replies to one, and so on."""
    message = READABLE
    for _ in range(depth):
        message = READABLE | {"reply_to_message": message}
    return message


@pytest.mark.parametrize(
    "body",
    [
        {"message_id": 5, "from": {"id": 7}, "text": "a secret", "chat": {"id": 7}},
        READABLE | {"date": 2**62},
        READABLE | {"date": 2**70},
        READABLE | {"chat": {"id": [], "type": "private"}},
        READABLE | {"entities": [5]},
        nested(600),
        "text",
        [],
    ],
    ids=["lacks fields", "year", "century", "chat", "entity", "nested", "text", "list"],
)
async def test_an_update_that_nobody_can_read_holds_up_no_other(
    server: TelegramServer, bot: Telegram, heard: Heard, caplog: pytest.LogCaptureFixture, body: Any
) -> None:
    server.queue("message", body)
    server.chats.says("hello")

    await until(lambda: texts(heard) == ["hello"])
    await until(lambda: not server.updates)
    assert "left out" in caplog.text
    assert "a secret" not in caplog.messages[0]


async def test_a_button_that_was_pressed_is_answered(server: TelegramServer, bot: Telegram, heard: Heard) -> None:
    keyboard = '{"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}'
    server.chats.send_message({"chat_id": "7", "text": "May I?", "reply_markup": keyboard})

    query = server.chats.presses(7, "Yes")

    await until(lambda: server.chats.answered == [query])
    assert isinstance(heard.inbound[-1], ButtonPressed)


async def test_the_token_appears_in_no_log(
    server: TelegramServer, bot: Telegram, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.fail("sendMessage", BAD_GATEWAY, DROPPED, RATE_LIMITED)
    for _ in range(4):
        await bot.send(OutboundMessage("1", Address("telegram", "7"), "hello"))
    await failing(server, bot, heard, BAD_GATEWAY, DROPPED, Fault(200, body=b"{"))

    of_the_server = "aiohttp.access"
    logged = [record.getMessage() for record in caplog.records if record.name != of_the_server]
    assert server.token not in "".join([*logged, *heard.errors])
    assert [record for record in caplog.records if record.name.startswith("telegram")] == []  # it logs what is said


async def test_a_connection_that_is_refused_is_waited_out(tmp_path: Path, clock: HurriedClock, heard: Heard) -> None:
    server = TelegramServer()
    await server.start()
    bot = telegram_channel(server, tmp_path, clock, timing=PollTiming(poll_s=1, answer_s=0.3))
    await server.stop()
    await bot.start(heard)

    await until(lambda: len(heard.errors) > 2)
    await bot.stop()

    assert heard.account_id is None
