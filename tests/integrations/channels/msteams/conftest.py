"""Fixtures for tests of Microsoft Teams: its server, a bot that is connected, and its webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.msteams.channel import TeamsChannel
from tests.channels.kit import Heard, HurriedClock
from tests.channels.msteams_rig import TeamsRig
from tests.servers.msteams_server import TeamsServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[TeamsRig]:
    rig = TeamsRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: TeamsRig) -> TeamsServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: TeamsRig, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[TeamsChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, TeamsChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
