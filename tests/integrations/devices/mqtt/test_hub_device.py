"""The hub as others at the broker see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hub.core.schema import Optional, Schema
from hub.core.services import ServiceCall
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.until import as_time_passes, until

CREDENTIALS = {"username": "me", "password": "a long secret"}


class Watched:
    """A hub with an embedded broker, and somebody who reads everything there."""

    def __init__(self, kit: MqttKit, **config: Any) -> None:
        self.kit, self.config = kit, config
        self.calls: list[ServiceCall] = []

    async def __aenter__(self) -> Device:
        async def note(call: ServiceCall) -> None:
            self.calls.append(call)

        await self.kit.db.open()
        for domain, name in (("automation", "trigger"), ("agent", "run")):
            self.kit.services.register(domain, name, note, Schema({Optional(str): object}))
        await self.kit.set_up({**CREDENTIALS, "port": 0, **self.config})
        await self.kit.until_connected()
        port = (await self.kit.ask("mqtt.status"))["listening"]
        self.device = await Device(port, **CREDENTIALS).__aenter__()
        await self.device.read("#")
        return self.device

    async def __aexit__(self, *error: Any) -> None:
        await self.device.__aexit__()


def said(device: Device, ending: str) -> list[Any]:
    """Return what was published on topics with an ending, read as JSON."""
    return [json.loads(payload) for topic, payload in device.heard if topic.endswith(ending) and payload]


async def test_the_hub_is_a_device_with_sensors_and_nothing_to_command(kit: MqttKit) -> None:
    async with Watched(kit, publish_birth="never") as device:
        await until(lambda: bool(said(device, "/state")))
        kit.bus.fire("run_finished", {"usage": {"cost_usd": 0.25}})
        kit.bus.fire("run_finished", {"usage": {"cost_usd": None}})
        await as_time_passes(kit.clock, 2, lambda: said(device, "/state")[-1]["runs"] == 2)
        await kit.clock.advance(86_400)
        kit.bus.fire("run_finished", {"usage": {}})
        await as_time_passes(kit.clock, 2, lambda: said(device, "/state")[-1]["runs"] == 1)

        config = said(device, "/config")[0]

    assert {each["platform"] for each in config["components"].values()} == {"sensor", "update"}
    assert said(device, "/state")[0]["latest"] == said(device, "/state")[0]["version"]
    assert config["device"]["name"] == "Home"
    assert 0.25 in [each["cost"] for each in said(device, "/state")]
    assert "online" in {payload for topic, payload in device.heard if topic.endswith("/status")}
    assert (await kit.ask("mqtt.discovered"))["entities"] == []


async def test_only_automations_and_agents_that_are_configured_can_be_asked_and_without_rights(kit: MqttKit) -> None:
    watched = Watched(kit, publish_automations=["night"], publish_agents=["main"])
    async with watched as device:
        await until(lambda: bool(said(device, "/config")))
        components = said(device, "/config")[0]["components"]
        base = components["automation_night"]["command_topic"].removesuffix("/automation/night/set")
        await device.say(f"{base}/automation/night/set", "PRESS", retain=True)
        await device.say(f"{base}/automation/other/set", "PRESS")
        await device.say(f"{base}/agent/main/set", "hello {{ 6 * 7 }}")
        await until(lambda: len(watched.calls) >= 2)

    found = {(each.domain, each.data.get("entity_id"), each.data.get("message")) for each in watched.calls}
    assert found == {("automation", "automation.night", None), ("agent", None, "hello {{ 6 * 7 }}")}
    for each in watched.calls:
        authority = each.context.authority
        assert authority.tainted
        assert not authority.owner
        assert not authority.scopes


async def test_entities_that_are_configured_are_seen_and_commanded_without_rights(kit: MqttKit) -> None:
    kit.states.set("switch.pump", "off", {"friendly_name": "Pump"})
    kit.states.set("lock.door", "locked")
    kit.states.set("scene.out", "unknown", {"entity_id": ["lock.door"]})
    kit.states.set("light.desk", "on", {"brightness": 100})
    ids = ["switch.pump", "scene.out", "lock.door", "light.desk", "number.later"]
    calls: list[Any] = []
    kit.bus.listen("service_called", calls.append)
    async with Watched(kit, publish_entities=ids, publish_birth="never") as device:
        await until(lambda: bool(said(device, "/light.desk/state")))
        kit.states.set("number.later", "4", {"min": 1, "max": 9})
        await as_time_passes(kit.clock, 2, lambda: "entity_number_later" in said(device, "/config")[-1]["components"])
        components = said(device, "/config")[-1]["components"]
        asked = {
            "switch_pump": "on",
            "light_desk": "77",
            "number_later": "7",
            "lock_door": "UNLOCK",
            "scene_out": "PRESS",
        }
        base = components["entity_lock_door"]["state_topic"].removesuffix("/lock.door/state")
        for name, payload in asked.items():
            await device.say(f"{base}/{name.replace('_', '.', 1)}/set", payload)
        await device.say(f"{base}/switch.pump/set", "explode")
        await device.say(f"{base}/switch.other/set", "on")
        await until(lambda: len(calls) >= 3)

    platforms = {name: each["platform"] for name, each in components.items() if name.startswith("entity_")}
    assert platforms == {
        "entity_switch_pump": "switch",
        "entity_lock_door": "sensor",
        "entity_scene_out": "sensor",
        "entity_light_desk": "light",
        "entity_number_later": "number",
    }
    assert {(each.data["domain"], each.data["service"], str(each.data["data"])) for each in calls} == {
        ("switch", "turn_on", "{'entity_id': 'switch.pump'}"),
        ("light", "turn_on", "{'entity_id': 'light.desk', 'brightness': 77}"),
        ("number", "set_value", "{'entity_id': 'number.later', 'value': 7.0}"),
    }
    assert not any(each.context.authority.owner or each.context.authority.scopes for each in calls)
    assert said(device, "/light.desk/state")[0]["attributes"] == {"brightness": 100}


@pytest.mark.parametrize(("mode", "other", "expected"), [("auto", False, 1), ("auto", True, 0), ("never", False, 0)])
async def test_the_birth_of_a_home_is_published_unless_there_is_one(
    kit: MqttKit, mode: str, other: bool, expected: int
) -> None:
    async with Watched(kit, publish_birth=mode, publish_hub=False) as device:
        if other:
            await device.say("homeassistant/status", "online", retain=True)
            assert (await kit.ask("mqtt.messages", topic="homeassistant/status", wait=30))["messages"]
        await kit.ask("mqtt.publish", topic="between", payload="x", qos=1)
        await kit.clock.advance(5)
        if expected:
            await as_time_passes(kit.clock, 2, lambda: ("homeassistant/status", "online") in device.heard)
        await kit.ask("mqtt.publish", topic="end", payload="x", qos=1)
        await until(lambda: ("end", "x") in device.heard)

    assert device.heard.count(("homeassistant/status", "online")) == expected + other
