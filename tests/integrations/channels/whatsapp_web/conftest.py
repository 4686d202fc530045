"""A channel on our double of a linked device's client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from integrations.channels.whatsapp_web.channel import WhatsAppWebChannel
from tests.integrations.channels.rig import Rig
from tests.servers.whatsapp_web_double import WhatsAppWebDouble

Make = Callable[[], WhatsAppWebChannel]


def taken(rig: Rig) -> list[Any]:
    """Return the messages and events that were taken, in order."""
    return list(rig.taken)


@pytest.fixture
def server() -> WhatsAppWebDouble:
    return WhatsAppWebDouble()


@pytest.fixture
def make(rig: Rig, server: WhatsAppWebDouble) -> Make:
    return lambda: WhatsAppWebChannel("default", server.open, rig.clock)


@pytest.fixture
async def channel(rig: Rig, make: Make) -> Any:
    channel = make()
    await rig.add(channel)
    await rig.until(lambda: channel.link_step().linked)
    return channel
