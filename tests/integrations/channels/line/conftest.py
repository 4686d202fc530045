"""Fixtures for tests of LINE: its server, and an account that is connected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.line.channel import LineChannel
from tests.channels.kit import Heard, HurriedClock
from tests.channels.line_rig import LineRig
from tests.servers.line_server import LineServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[LineRig]:
    rig = LineRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: LineRig) -> LineServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: LineRig, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[LineChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, LineChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
