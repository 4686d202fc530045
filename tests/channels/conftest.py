"""What tests of channels share: a platform that runs, and a hub with a channel on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.kit import ANSWER, ChannelHub, Heard, HurriedClock, Rig
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig: Rig = request.param()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
async def hub(rig: Rig, tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[ChannelHub]:
    openai_server.set_default(ANSWER)
    hub = ChannelHub(tmp_path, openai_server.base_url, rig)
    await hub.open()
    yield hub
    await hub.close()


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()
