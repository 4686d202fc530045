"""Albums, whose parts Telegram gives one by one: they are answered together, whichever way they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Channel
from hub.messaging.queue.waiting import ALBUM_S
from integrations.channels.telegram.channel import Telegram
from integrations.channels.telegram.listener import TelegramWebhook
from tests.channels.kit import ANSWER, ChannelHub
from tests.channels.telegram_rig import GROUP_ID, TelegramRig, telegram_channel
from tests.servers.openai_server import OpenAIServer

PICTURE = bytes.fromhex("89504e470d0a1a0a")
PARTS = 3


class WebhookRig(TelegramRig):
    """Telegram that delivers to the hub."""

    def __init__(self) -> None:
        super().__init__()
        application = web.Application()
        application.router.add_post("/", self._deliver)
        self._hook = TestServer(application)

    async def start(self) -> None:
        await super().start()
        await self._hook.start_server()

    async def stop(self) -> None:
        await super().stop()
        await self._hook.close()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        webhook = TelegramWebhook(str(self._hook.make_url("/")), Secret("a-secret-of-the-webhook"))
        self.bot: Telegram = telegram_channel(self.server, folder, clock, webhook=webhook)
        return self.bot

    async def _deliver(self, request: web.Request) -> web.Response:
        await self.bot.deliver(await request.json())
        return web.Response()


@pytest.fixture(params=[TelegramRig, WebhookRig], ids=["asked", "delivered"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[TelegramRig]:
    rig: TelegramRig = request.param()
    await rig.start()
    yield rig
    await rig.stop()


async def test_the_parts_of_an_album_are_answered_together(
    tmp_path: Path, openai_server: OpenAIServer, rig: TelegramRig
) -> None:
    openai_server.set_default(ANSWER)
    openai_server.queue([{"hold": "busy"}, {"text": "First."}])
    hub = ChannelHub(tmp_path, openai_server.base_url, rig)
    await hub.open()

    await rig.says("hello", group=True)
    await hub.until(lambda: len(openai_server.requests()) == 1)

    for number in range(PARTS):
        picture = rig.server.chats.file(PICTURE, width=1, height=1)
        caption = "@homarus_bot where is this?" if number == 0 else None
        rig.server.chats.says(caption, chat=GROUP_ID, photo=[picture], media_group_id="a")
    await hub.until(lambda: not rig.server.updates)
    await asyncio.sleep(ALBUM_S)  # while the agent is busy: none of it waits for more then
    openai_server.release("busy")
    await hub.until_shown("First.", ANSWER, group=True)

    _, second = openai_server.requests()
    asked = second["body"]["messages"][-1]["content"]
    assert "where is this?" in asked
    assert asked.count("[attached image") == PARTS
    await hub.log_out()
    await hub.close()
