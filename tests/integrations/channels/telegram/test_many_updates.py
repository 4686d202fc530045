"""Many updates through everything that goes wrong with Telegram: none is lost, and none is answered twice."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from hub.messaging.contract import ChannelState
from hub.security.people import People, Person
from integrations.channels.telegram.listener import PollTiming
from tests.channels.kit import ChannelHub
from tests.channels.telegram_rig import TelegramRig
from tests.lengths import rounds
from tests.servers.openai_server import OpenAIServer
from tests.servers.telegram_server import (
    BAD_GATEWAY,
    CONFLICT,
    DROPPED,
    DROPPED_AFTER,
    HANGS,
    MALFORMED,
    PROXY_PAGE_AFTER,
    RATE_LIMITED,
    Fault,
)
from tests.until import LIMIT_S, until

UPDATES = rounds(10_000, 200)
CHATS = range(1, 26)
WAVE = 40
SLOW = Fault(delay_s=0.05)
HEARING = (CONFLICT, RATE_LIMITED, BAD_GATEWAY, PROXY_PAGE_AFTER, DROPPED, DROPPED_AFTER, MALFORMED, SLOW)
SAYING = (RATE_LIMITED, BAD_GATEWAY, DROPPED_AFTER, PROXY_PAGE_AFTER, SLOW)


@pytest.mark.timeout(rounds(3_000, 120))
async def test_none_is_lost_and_none_is_answered_twice(tmp_path: Path, openai_server: OpenAIServer) -> None:
    chance = random.Random(7)
    openai_server.set_default({"echo": True})
    rig = TelegramRig()
    rig.timing = PollTiming(poll_s=1, answer_s=10.0)  # what a busy machine answers later, nobody knows of
    server = rig.server
    await rig.start()
    hub = ChannelHub(tmp_path, openai_server.base_url, rig)
    # Each has a conversation of their own, as in a home; one for all would fill the window of the model.
    people = [Person(f"p{n}", f"P{n}", owner=n == CHATS[0], identities=(f"telegram:user:{n}",)) for n in CHATS]
    hub.people = People(people, hub.channels.is_home)
    await hub.open()

    def answered() -> Counter[str]:
        return Counter(
            found for chat in CHATS for text in server.chats.shown(chat) for found in re.findall(r"#\d+", text)
        )

    def written() -> int:
        """Return how many messages the chats show, beside notices of answers that may not have arrived."""
        notice = hub.notice()
        return sum(each.get("text") != notice for chat in server.chats.messages.values() for each in chat.values())

    async def until_written(count: int) -> None:
        await until(lambda: written() >= count, limit_s=2 * LIMIT_S)  # one poll hangs

    for wave, first in enumerate(range(0, UPDATES, WAVE)):
        server.fail("getUpdates", *chance.choices(HEARING, k=3))
        server.fail("sendMessage", *chance.choices(SAYING, k=3))
        if wave % 10 == 1:
            server.fail("getUpdates", HANGS)
        if wave % 20 == 2:
            server.token = f"4242:another-token-of-the-same-bot-{wave}"
            server.cut_poll()
            await hub.until(lambda: hub.state() is ChannelState.FAILED)
            await hub.log_in_again()
        if wave % 20 == 4:
            await hub.until(lambda: not server.updates)
            server.begin_ids_at(wave + 1)
        for number in range(first, first + WAVE):
            chat = chance.choice(CHATS)
            server.chats.says(f"#{number}.", chat=chat, who=chat)
            if number % 5 == 0:
                server.repeat(server.last_update)
            if number % 10 == 0:
                server.shuffles = chance
        await until_written(2 * (first + WAVE))

    assert answered() == Counter(f"#{number}" for number in range(UPDATES))
    assert await hub.turns() == UPDATES
    assert server.faults_left() <= 6  # of the last wave; all others happened
    await hub.close()
    await rig.stop()
