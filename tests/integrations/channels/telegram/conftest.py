"""Fixtures for tests of Telegram: its server, and a bot that is connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.telegram.channel import Telegram
from tests.channels.kit import Heard, HurriedClock
from tests.channels.telegram_rig import telegram_channel
from tests.servers.telegram_server import TelegramServer
from tests.until import until


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def bot(server: TelegramServer, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[Telegram]:
    """A bot that listens; person 7 has pressed Start."""
    bot = telegram_channel(server, tmp_path, clock)
    await bot.start(heard)
    await until(lambda: heard.account_id is not None)
    server.chats.says("/start")
    await until(lambda: not server.updates)
    heard.inbound.clear()
    yield bot
    await bot.stop()
