"""The hub lends its rights at the broker to nobody: what a client announces names topics that it may use itself."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from hub.entities.new_devices import new_ones
from hub.integration.json_storage import JsonStorage
from integrations.devices.mqtt.brokers import SAVE_S
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.servers.mosquitto import Mosquitto
from tests.until import as_time_passes, until

SECRET = "a long secret"
PLAIN: dict[str, Any] = {"publish_hub": False, "publish_birth": "never"}
CLIENTS: dict[str, Any] = {
    "garden": {"password": SECRET},
    "tasmota": {"password": SECRET, "publish": ["tasmota/#", "tele/#"], "subscribe": ["cmnd/lamp/#"]},
    "lock": {"password": SECRET},
    "flat": {"password": SECRET, "publish": ["flat/+", "homeassistant/+/+/config"], "subscribe": []},
}
TASMOTA: dict[str, Any] = {
    **dict.fromkeys(("dn", "hn", "ip", "md", "ofln", "onln", "sw"), "x"),
    "ver": 1,
    "mac": "112233445566",
    "ft": "%topic%/%prefix%/",
    "t": "lock",
    "tp": ["cmnd", "stat", "tele"],
    "rl": [1],
    "so": {},
    "fn": ["Lamp"],
    "state": ["OFF", "ON", "TOGGLE", "HOLD"],
}


def announces(**config: Any) -> str:
    return json.dumps({"name": "Lamp", "unique_id": "lamp", **config})


async def started(kit: MqttKit, clients: dict[str, Any] = CLIENTS) -> int:
    await kit.set_up({"clients": clients, "port": 0, **PLAIN})
    await kit.until_connected()
    return int((await kit.ask("mqtt.status"))["listening"])


async def refused(kit: MqttKit) -> list[str]:
    """Wait until something is not taken; return why."""
    while not (found := (await kit.ask("mqtt.discovered"))["refused"]):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return [each["reason"] for each in found]


SENSOR = "homeassistant/sensor/a/config"
SWITCH = {"platform": "switch", "unique_id": "a", "command_topic": "~/set"}


@pytest.mark.parametrize(
    ("who", "topic", "payload"),
    [
        ("garden", "homeassistant/light/a/config", announces(command_topic="lock/set", state_topic="garden/a")),
        ("garden", "homeassistant/cover/a/config", announces(command_topic="garden/s", set_position_topic="lock/set")),
        ("garden", SENSOR, announces(state_topic="lock/state")),
        ("garden", SENSOR, announces(state_topic="#")),
        ("flat", SENSOR, announces(state_topic="flat/#")),
        (
            "garden",
            SENSOR,
            announces(state_topic="garden/a", availability=[{"topic": "lock/state"}, {"topic": "garden/a"}]),
        ),
        ("garden", "homeassistant/tag/a/config", announces(topic="lock/tag")),
        (
            "garden",
            "homeassistant/device/a/config",
            json.dumps(
                {"device": {"identifiers": "x"}, "origin": {"name": "x"}, "~": "lock", "components": {"a": SWITCH}}
            ),
        ),
        ("tasmota", "tasmota/discovery/112233445566/config", json.dumps(TASMOTA)),
    ],
)
async def test_a_client_announces_no_topics_of_others(kit: MqttKit, who: str, topic: str, payload: str) -> None:
    port = await started(kit)
    lock = Device(port, username="lock", password=SECRET)
    async with Device(port, username=who, password=SECRET) as eve, lock:
        await lock.read("lock/#")
        await eve.say(topic, payload, retain=True)

        assert [each for each in await refused(kit) if "may not" not in each] == []
        assert (await kit.ask("mqtt.discovered"))["entities"] == []
        assert lock.heard == []


async def test_what_a_client_may_use_is_taken_and_its_rights_are_asked_again_after_a_restart(tmp_path: Path) -> None:
    first, second, third = (MqttKit(tmp_path) for _ in range(3))
    port = await started(first)
    lamp = announces(command_topic="garden/set", state_topic="garden/state")
    async with Device(port, username="garden", password=SECRET) as garden:
        await garden.read("garden/set")
        await garden.say("homeassistant/light/a/config", lamp, retain=True)
        await until(lambda: first.state("light.lamp") is not None)
        await first.call("light.turn_on", entity_id="light.lamp")
        await until(lambda: bool(garden.heard))
    await first.tear_down()

    await started(second)
    await until(lambda: second.state("light.lamp") is not None)
    await second.tear_down()

    announcing = {"password": SECRET, "publish": ["homeassistant/+/+/config"], "subscribe": []}
    await started(third, {**CLIENTS, "garden": announcing})
    assert "may not write garden/set" in str(await refused(third))
    assert (await third.ask("mqtt.discovered"))["entities"] == []
    await third.tear_down()


@pytest.mark.parametrize("row", [{}, {"by": None}])
@pytest.mark.parametrize(
    ("section", "is_taken"),
    [
        ({}, True),
        ({"username": "all", "password": SECRET}, True),
        ({"clients": {"garden": {"password": SECRET}}, "nodes": {"barn": {"password": SECRET}}}, True),
        ({"clients": CLIENTS}, False),
    ],
    ids=["no credentials", "one user name", "one client beside a node", "several clients"],
)
async def test_what_was_kept_before_writers_were_noted_is_of_the_only_client_or_told_of(
    kit: MqttKit, section: dict[str, Any], is_taken: bool, row: dict[str, Any]
) -> None:
    lamp = announces(command_topic="garden/set")
    kept = {"topic": "homeassistant/light/a/config", "payload": b64encode(lamp.encode()).decode(), "qos": 0, **row}
    unimportant = {**kept, "topic": "elsewhere"}
    await JsonStorage(kit.home.storage / "integrations" / "mqtt" / "retained.json").save([kept, unimportant])
    await kit.set_up({"port": 0, **PLAIN, **section})
    await kit.until_connected()
    if not is_taken:
        assert "not known who" in str(await refused(kit))
        (told,) = await as_time_passes(kit.clock, SAVE_S, kit.repairs.all)
        assert told.text.startswith("homeassistant/light/a/config: ")
        port = int((await kit.ask("mqtt.status"))["listening"])
        async with Device(port, username="garden", password=SECRET) as garden:
            await garden.say("homeassistant/light/a/config", lamp, retain=True)
    await until(lambda: kit.state("light.lamp") is not None)
    await kit.clock.advance(SAVE_S)

    await as_time_passes(kit.clock, SAVE_S, lambda: kit.repairs.all() == [])


LOCK = "homeassistant/lock/a/config"
LIGHT = "homeassistant/light/b/config"
DOOR = announces(unique_id="door", device={"identifiers": ["1"], "name": "Door"}, command_topic="lock/set")


@pytest.mark.parametrize(
    ("name", "afterwards"),
    [
        ("Gnome", ""),
        ("Door", ""),  # a stranger may call itself as it likes
        ("Gnome", announces(device={"identifiers": ["2"], "name": "Gnome"}, command_topic="gnome/set")),
        ("Gnome", announces(device={"identifiers": ["1"], "name": "Door"}, command_topic="lock/set")),
    ],
    ids=["it goes", "it goes by another's name", "it moves away", "it is a part of the other"],
)
async def test_at_another_broker_a_topic_of_several_devices_is_told_of(
    kit: MqttKit, mosquitto: Mosquitto, name: str, afterwards: str
) -> None:
    await kit.set_up({**PLAIN, "broker": "127.0.0.1", "port": mosquitto.port})
    await kit.until_connected()
    async with Device(mosquitto.port) as device:
        await device.say(LOCK, DOOR)
        await until(lambda: kit.state("lock.door_lamp") is not None)
        before = kit.repairs.all()
        gnome = announces(device={"identifiers": ["2"], "name": name}, command_topic="lock/set")
        await device.say(LIGHT, gnome)
        await until(lambda: bool(kit.repairs.all()))
        (told,) = kit.repairs.all()
        await device.say(LIGHT, afterwards)
        await until(lambda: kit.repairs.all() == [])

    assert before == []
    assert f"Door ({LOCK}), {name} ({LIGHT}): all of them named lock/set" in told.text


@pytest.mark.parametrize(
    "other",
    [
        announces(device={"identifiers": ["1"], "name": "Door"}, command_topic="lock/set"),
        announces(device={"identifiers": ["2"]}, command_topic="lock/set", effect_command_topic="homeassistant/a"),
    ],
    ids=["of the same device", "not taken"],
)
async def test_at_another_broker_only_devices_that_are_there_share_a_topic(
    kit: MqttKit, mosquitto: Mosquitto, other: str
) -> None:
    await kit.set_up({**PLAIN, "broker": "127.0.0.1", "port": mosquitto.port})
    await kit.until_connected()
    async with Device(mosquitto.port) as device:
        await device.say(LOCK, DOOR)
        await device.say(LIGHT, other)
        await device.say("homeassistant/switch/c/config", announces(unique_id="last", command_topic="c"))
        await until(lambda: kit.state("switch.lamp") is not None)

    assert kit.repairs.all() == []


SWITCHED = {"device": {"identifiers": ["1"], "name": "Desk plug"}, "unique_id": "plug"}
PRESSED = {"automation_type": "trigger", "type": "press", "subtype": "one", "topic": "garden/press"}


@pytest.mark.parametrize(
    ("who", "first", "is_new"),
    [
        ("mosquitto", None, True),
        ("mosquitto", PRESSED, True),
        ("", None, True),
        ("", PRESSED, True),
        ("garden", None, False),
    ],
)
async def test_agents_wait_for_what_somebody_unknown_announced(
    kit: MqttKit, mosquitto: Mosquitto, who: str, first: dict[str, Any] | None, is_new: bool
) -> None:
    if who == "mosquitto":
        await kit.set_up({**PLAIN, "broker": "127.0.0.1", "port": mosquitto.port})
        await kit.until_connected()
    port = mosquitto.port if who == "mosquitto" else await started(kit, CLIENTS if who else {})
    async with Device(port, **({"username": who, "password": SECRET} if who == "garden" else {})) as device:
        if first is not None:
            report = {"device": SWITCHED["device"], **first}
            await device.say("homeassistant/device_automation/a/config", json.dumps(report))
        await device.say("homeassistant/switch/a/config", announces(**SWITCHED, command_topic="garden/set"))
        await until(lambda: kit.state("switch.desk_plug_lamp") is not None)

    assert kit.entities.is_exposed("switch.desk_plug_lamp") is not is_new
    assert list(new_ones(kit.registry).values()) == (["Desk plug"] if is_new else [])
