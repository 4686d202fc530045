"""Fixtures for tests of WhatsApp: its server, a number that is connected, and the webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.channels.whatsapp.channel import WhatsAppChannel
from tests.channels.kit import Heard, HurriedClock
from tests.channels.whatsapp_rig import WhatsAppRig
from tests.servers.whatsapp_server import WhatsAppServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[WhatsAppRig]:
    rig = WhatsAppRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: WhatsAppRig) -> WhatsAppServer:
    return platform.server


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(
    platform: WhatsAppRig, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> AsyncIterator[WhatsAppChannel]:
    channel = platform.channel(tmp_path, clock)
    assert isinstance(channel, WhatsAppChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()
