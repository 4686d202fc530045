"""Forged deliveries: each webhook refuses them before it reads what they say, and tells nobody of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.kit import ADA, ANSWER, ChannelHub, Forged, Heard, HurriedClock, Rig
from tests.channels.registry import RIGS, rigs_that
from tests.until import until

FORGERIES = [
    pytest.param(rig, forged, id=f"{rig().name}-{forged}")
    for rig in RIGS
    for forged in Forged
    if forged in rig().forges
]


@pytest.fixture
async def channel(rig: Rig, tmp_path: Path, clock: HurriedClock, heard: Heard) -> AsyncIterator[None]:
    channel = rig.channel(tmp_path, clock)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield
    await channel.stop()


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize(("rig", "forged"), FORGERIES, indirect=["rig"])
async def test_a_forged_delivery_is_refused_before_it_is_read(rig: Rig, forged: Forged, heard: Heard) -> None:
    status = await rig.delivers_forged(forged)

    assert status == (413 if forged is Forged.TOO_LONG else 401)
    assert heard.inbound == []


@rigs_that(Forged.WRONG)
async def test_a_webhook_still_hears_its_platform_after_forgeries(hub: ChannelHub, rig: Rig) -> None:
    for _ in range(30):
        await rig.delivers_forged(Forged.WRONG)
    await rig.says("hello", ADA)

    await hub.until_shown(ANSWER)
