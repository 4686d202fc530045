"""Fixtures for tests of Google Chat: its server, an app that is connected, and its endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.google_chat.channel import GoogleChatChannel
from tests.channels.google_chat_rig import GoogleChatRig
from tests.channels.kit import Heard, HurriedClock
from tests.servers.google_chat_server import GoogleChatServer
from tests.until import until


@pytest.fixture
async def platform(request: pytest.FixtureRequest) -> AsyncIterator[GoogleChatRig]:
    rig = getattr(request, "param", GoogleChatRig)()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: GoogleChatRig) -> GoogleChatServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(
    platform: GoogleChatRig, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> AsyncIterator[GoogleChatChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, GoogleChatChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
