"""What devices report in no state, notifiers, and integrations that are found by a topic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.integration.catalog import CatalogEntry
from hub.integration.manifest import Manifest
from integrations.network.discovery.found import FoundServices
from integrations.network.discovery.topics import follow_topics
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.until import until

PRESS = (
    '{"atype": "trigger", "t": "remote/action", "type": "button_short_press", "stype": "button_1", "pl": "single",'
    ' "dev": {"ids": ["r"], "name": "Remote"}}'
)
TOPIC = "homeassistant/device_automation/r/press/config"


@pytest.fixture
async def device(kit: MqttKit) -> AsyncIterator[Device]:
    await kit.set_up({"username": "me", "password": "a long secret", "port": 0, "publish_birth": "never"})
    await kit.until_connected()
    port = (await kit.ask("mqtt.status"))["listening"]
    async with Device(port, username="me", password="a long secret") as device:
        yield device


async def test_a_button_of_a_device_is_a_trigger_until_it_is_taken_away(kit: MqttKit, device: Device) -> None:
    await device.say("remote/action", "single", retain=True)  # pressed long ago
    await device.say(TOPIC, PRESS, retain=True)
    await until(lambda: bool(kit.registry.devices))
    await kit.ask("mqtt.messages", topic="remote/action", wait=30)
    trigger = (await kit.ask("mqtt.discovered"))["triggers"][0]
    heard = kit.arm({"trigger": "device", "domain": "mqtt", **trigger})

    await device.say("remote/action", "double")
    await device.say("remote/action", "single")
    await until(lambda: bool(heard.fired))
    await device.say(TOPIC, retain=True)
    await kit.ask("mqtt.publish", topic="after", payload="x", qos=1, retain=True)
    assert (await kit.ask("mqtt.messages", topic="after", wait=30))["messages"]

    assert [(each.trigger["type"], each.trigger["data"], each.tainted) for each in heard.fired] == [
        ("button_short_press", {"payload": "single"}, True)
    ]
    assert (await kit.ask("mqtt.discovered"))["triggers"] == []


async def test_a_device_trigger_without_its_names_is_refused(kit: MqttKit, device: Device) -> None:
    await device.say(TOPIC, '{"atype": "trigger", "t": "x", "type": "press"}', retain=True)
    await kit.ask("mqtt.publish", topic="after", payload="x", qos=1, retain=True)
    assert (await kit.ask("mqtt.messages", topic="after", wait=30))["messages"]

    refused = (await kit.ask("mqtt.discovered"))["refused"]

    assert ["type and subtype" in each["reason"] for each in refused] == [True]


async def test_a_notifier_gets_messages_and_bytes_are_published_as_bytes(kit: MqttKit, device: Device) -> None:
    await device.say(
        "homeassistant/notify/p/config", '{"name": "Pager", "uniq_id": "p", "cmd_t": "pager"}', retain=True
    )
    await until(lambda: kit.state("notify.pager") is not None)
    await device.read("#")

    await kit.call("notify.send_message", entity_id="notify.pager", message="Dinner!")
    await kit.call("mqtt.publish", topic="raw", payload="b'\\x41\\x42'", evaluate_payload=True)
    await kit.call("mqtt.publish", topic="raw", payload="b'broken", evaluate_payload=True)
    await kit.call("mqtt.publish", topic="raw", payload="b'a', 1", evaluate_payload=True)
    await until(lambda: ("raw", "b'a', 1") in device.heard)

    assert ("pager", "Dinner!") in device.heard
    assert ("raw", "AB") in device.heard
    assert ("raw", "b'broken") in device.heard


async def test_an_integration_is_found_by_a_topic_of_its_manifest_and_only_shown(
    kit: MqttKit, device: Device, tmp_path: Path
) -> None:
    manifest = Manifest("kettle", "Kettle", mqtt=("kettle/+/hello", "kettle/#/x"))
    found = FoundServices(kit.host)
    follow_topics(kit.host, found, {"kettle": CatalogEntry("kettle", tmp_path, "kettle", manifest)})

    await device.say("kettle/7/hello", "{}", retain=True)
    await until(lambda: found.waiting() == 1)
    found.clear()  # another network: what came by MQTT is still there

    shown = found.as_dicts()[0]
    assert {key: shown[key] for key in ("kind", "name", "at", "state", "key", "value")} == {
        "kind": "Kettle",
        "name": "kettle/7/hello",
        "at": "MQTT",
        "state": "new",
        "key": "kettle",
        "value": {},
    }
