"""Fixtures for tests of calls: Twilio, its telephones, and a number that is connected."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from integrations.channels.voice_call.channel import VoiceCallChannel
from tests.channels.kit import Heard, HurriedClock
from tests.channels.voice_call_rig import VoiceCallRig
from tests.servers.telephone_server import Telephone, TwilioServer
from tests.until import until


@pytest.fixture
async def platform() -> AsyncIterator[VoiceCallRig]:
    rig = VoiceCallRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: VoiceCallRig) -> TwilioServer:
    return platform.server


@pytest.fixture
def ada(platform: VoiceCallRig) -> Telephone:
    return platform.telephone()


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: VoiceCallRig, clock: HurriedClock, heard: Heard) -> AsyncIterator[VoiceCallChannel]:
    channel = platform.made(clock)
    await connected(channel, heard)
    yield channel
    await channel.stop()


async def connected(channel: VoiceCallChannel, heard: Heard) -> None:
    """Start a channel, and wait until Twilio knows it."""
    heard.account_id = None
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
