"""Fixtures for tests of Feishu: its server, and an app that is connected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.feishu.channel import FeishuChannel
from tests.channels.feishu_rig import FeishuRig
from tests.channels.kit import Heard, HurriedClock
from tests.servers.feishu_server import FeishuServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[FeishuRig]:
    rig = FeishuRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: FeishuRig) -> FeishuServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(
    platform: FeishuRig, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> AsyncIterator[FeishuChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, FeishuChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
