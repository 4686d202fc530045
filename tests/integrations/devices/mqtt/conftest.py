"""A broker for all tests of this folder, and the bridge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integrations.devices.mqtt.kit import MqttKit
from tests.servers.mosquitto import Mosquitto


@pytest.fixture(scope="module")
def mosquitto() -> Iterator[Mosquitto]:
    with Mosquitto(persistent=True) as server:
        yield server


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[MqttKit]:
    kit = MqttKit(tmp_path)
    yield kit
    await kit.tear_down()
