"""Long: a flood of retained messages, a broker that answers nothing more, and two hubs with one name."""

from __future__ import annotations

import resource
import time

import pytest

from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.lengths import LONG
from tests.servers.mosquitto import Mosquitto

pytestmark = pytest.mark.skipif(not LONG, reason="takes half a minute")
RETAINED = 100_000
KEEP_ALIVE_S = 5


async def test_a_hundred_thousand_retained_messages_are_survived_and_bounded(kit: MqttKit) -> None:
    with Mosquitto() as broker:
        async with Device(broker.port) as device:
            for number in range(RETAINED):
                await device.say(f"homeassistant/sensor/flood{number}/config", "not JSON", retain=True, qos=0)
            await device.say(
                "homeassistant/switch/zz/config", '{"name": "Z", "uniq_id": "z", "cmd_t": "z"}', retain=True
            )
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            await kit.set_up({"broker": "127.0.0.1", "port": broker.port, "publish_hub": False})
            await kit.until_connected()
            end = time.monotonic() + 300
            while (await kit.ask("mqtt.status"))["received"] <= RETAINED and time.monotonic() < end:
                await kit.clock.advance(0)

    assert (await kit.ask("mqtt.status"))["received"] > RETAINED
    assert kit.state("switch.z") is not None
    assert len((await kit.ask("mqtt.discovered"))["refused"]) <= 500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KB


async def test_a_broker_that_is_silent_is_given_up_within_one_and_a_half_keep_alives(kit: MqttKit) -> None:
    with Mosquitto() as broker:
        await kit.set_up({"broker": "127.0.0.1", "port": broker.port, "keep_alive": KEEP_ALIVE_S})
        await kit.until_connected()
        async with Device(broker.port) as device:
            said = '{"name": "Z", "uniq_id": "z", "cmd_t": "z"}'
            await device.say("homeassistant/switch/z/config", said, retain=True)
        while kit.state("switch.z") is None:
            await kit.clock.advance(0)

        broker.freeze()
        await kit.until_connected(False)  # it waits less long than one keep-alive that is not configured
        state = kit.state("switch.z")
        broker.thaw()

    assert state == "unavailable"
