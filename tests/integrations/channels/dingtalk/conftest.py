"""Fixtures for tests of DingTalk: its server, and an app that is connected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.dingtalk.channel import DingTalkChannel
from tests.channels.dingtalk_rig import DingTalkRig
from tests.channels.kit import Heard, HurriedClock
from tests.servers.dingtalk_server import DingTalkServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[DingTalkRig]:
    rig = DingTalkRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: DingTalkRig) -> DingTalkServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(
    platform: DingTalkRig, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> AsyncIterator[DingTalkChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, DingTalkChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
