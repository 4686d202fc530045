"""Devices that announce themselves: entities, commands, availability, removal, migration and renaming."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.core.ids import new_id
from hub.security.egress import EgressRefused
from integrations.devices.mqtt.discovery.abbreviations import long_key
from integrations.devices.mqtt.discovery.announcement import check_component
from tests.integrations.devices.camera.camera_double import JPEG, CameraDouble
from tests.integrations.devices.mqtt.captured import Captured
from tests.integrations.devices.mqtt.captured_bridges import BRIDGED
from tests.integrations.devices.mqtt.captured_native import NATIVE
from tests.integrations.devices.mqtt.captured_zigbee import ANNOUNCED
from tests.integrations.devices.mqtt.kit import Device, MqttKit
from tests.until import until

SWITCH = {"name": "Lamp", "unique_id": "lamp", "command_topic": "lamp/set", "state_topic": "lamp"}
LAMP = "homeassistant/switch/lamp/config"


class Home(MqttKit):
    """The bridge with its own broker, and a device at it."""

    device: Device

    async def say(self, topic: str, payload: Any = "", *, retain: bool = True) -> None:
        """Publish, and wait until the bridge has handled all."""
        text = payload if isinstance(payload, str | bytes) else json.dumps(payload)
        await self.device.say(topic, text, retain=retain)

    async def settle(self) -> None:
        """Wait until all that was said is handled: filters are subscribed in order, and this one is the last."""
        topic = f"settled/{new_id()}"
        await self.device.say(topic, "x", retain=True)
        assert (await self.ask("mqtt.messages", topic=topic, wait=30))["messages"]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    await home.set_up({"username": "me", "password": "a long secret", "port": 0, "publish_birth": "never"})
    await home.until_connected()
    port = (await home.ask("mqtt.status"))["listening"]
    async with Device(port, username="me", password="a long secret") as home.device:
        yield home
    await home.tear_down()


@pytest.mark.parametrize("captured", [*ANNOUNCED, *BRIDGED, *NATIVE], ids=lambda each: each.name)
async def test_a_family_of_devices_has_the_right_entities(home: Home, captured: Captured) -> None:
    for topic, payload in captured.said:
        await home.say(topic, payload)
    await until(lambda: all(home.state(each) == state for each, state in captured.states.items()))

    await home.settle()
    assert {each.entity_id: each.state for each in home.states.all()} == captured.states
    assert {key: home.attribute(*key) for key in captured.attributes} == captured.attributes
    await home.device.read("#")
    for service, data, topic, payload in captured.commands:
        await home.call(service, **data)
        await until(lambda topic=topic, payload=payload: (topic, payload) in home.device.heard)  # type: ignore[misc]
    for topic, payload, entity_id, state in captured.later:
        await home.say(topic, payload)
        await until(lambda entity_id=entity_id, state=state: home.state(entity_id) == state)  # type: ignore[misc]


async def test_a_camera_shows_the_picture_that_it_sent_last(home: Home) -> None:
    await home.say("homeassistant/camera/door/config", {"unique_id": "d", "topic": "door/jpg", "image_encoding": "b64"})
    await until(lambda: home.state("camera.door") is not None)
    camera = home.entities.get("camera.door")
    assert camera is not None
    assert camera.picture is not None
    with pytest.raises(Unavailable, match=r"camera\.door has sent no picture yet"):
        await camera.picture()

    await home.say("door/jpg", "/9j/4AAQ")
    await until(lambda: home.state("camera.door") == "idle")

    assert (await camera.picture()).data == b"\xff\xd8\xff\xe0\x00\x10"


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ({}, "one of image_topic and url_topic"),
        ({"image_topic": "a", "url_topic": "b"}, "one of image_topic and url_topic"),
        ({"url_topic": "a", "content_type": "image/png"}, "content_type"),
    ],
)
def test_an_image_has_one_source(topics: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        check_component("image", {"unique_id": "x", **topics})


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_image_is_fetched_from_the_address_that_was_sent_last_where_that_may_be_called(
    home: Home, allowed: bool
) -> None:
    template = "{{ value_json.url }}"
    await home.say("homeassistant/image/door/config", {"uniq_id": "d", "url_t": "door", "url_tpl": template})
    await until(lambda: home.state("image.door") == "unknown")
    image = home.entities.get("image.door")
    assert image is not None
    assert image.picture is not None
    async with CameraDouble() as double:
        home.allow_private = {double.url.removeprefix("http://")} if allowed else set()
        await home.say("door", {"url": f"{double.url}/still"})
        await until(lambda: home.state("image.door") != "unknown")
        await home.say("door", {"url": "no address"})
        await home.settle()
        assert double.asked == []

        if allowed:
            assert (await image.picture()).data == JPEG
            return
        with pytest.raises(EgressRefused):
            await image.picture()


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("tasmota/discovery/AABB/config", {"ver": 1, "mac": "AABB"}),
        ("tasmota/discovery/AABB/config", [1]),
        ("zigbee2mqtt/bridge/devices", [1, {"friendly_name": "a", "definition": {"exposes": [1, {"type": "switch"}]}}]),
        ("zigbee2mqtt/bridge/info", "x"),
        ("frigate/stats", {"cameras": {"a/b": 1, "$x": 2}}),
        ("owntracks/a/b", {"_type": "encrypted", "data": "x"}),
        ("owntracks/a/b", "\x00"),
    ],
)
async def test_what_is_not_in_the_format_of_its_family_makes_no_entity(home: Home, topic: str, said: Any) -> None:
    await home.say(topic, said)
    await home.settle()

    assert [each for each in home.states.all() if each.state != "unavailable"] == []


async def test_tasmota_and_zigbee2mqtt_devices_go_when_they_are_taken_away(home: Home) -> None:
    for captured in NATIVE:
        if captured.name in ("tasmota", "zigbee2mqtt exposes"):
            for topic, payload in captured.said:
                await home.say(topic, payload)
    await until(lambda: home.state("switch.strip") == "on" and home.state("switch.bath") == "on")

    await home.say("tasmota/discovery/AABBCC001122/config")
    await home.say("zigbee2mqtt/bridge/info", {"config": {"homeassistant": {"enabled": True}}})

    await until(lambda: home.states.all() == [])


async def test_a_zigbee_device_that_its_bridge_calls_offline_is_unavailable(home: Home) -> None:
    plug = {
        "type": "switch",
        "features": [{"name": "state", "property": "state", "value_on": "ON", "value_off": "OFF"}],
    }
    device = {"ieee_address": "0x1", "friendly_name": "plug", "definition": {"exposes": [plug]}}
    await home.say("zigbee2mqtt/bridge/state", {"state": "online"})
    await home.say("zigbee2mqtt/bridge/info", {"config": {"availability": {"enabled": True}}})
    await home.say("zigbee2mqtt/bridge/devices", [device])
    await home.say("zigbee2mqtt/plug", {"state": "ON"})
    await home.settle()

    assert home.state("switch.plug") == "unavailable"
    await home.say("zigbee2mqtt/plug/availability", {"state": "online"})
    await until(lambda: home.state("switch.plug") == "on")


async def test_an_empty_message_removes_an_entity_and_a_new_one_brings_it_back(home: Home) -> None:
    await home.say(LAMP, SWITCH)
    await until(lambda: home.state("switch.lamp") == "unknown")
    await home.say(LAMP)
    await until(lambda: home.state("switch.lamp") is None)
    with pytest.raises(NotFound):
        await home.call("switch.turn_on", entity_id="switch.lamp")

    await home.say(LAMP, SWITCH)

    await until(lambda: home.state("switch.lamp") == "unknown")


async def test_a_component_that_is_reduced_to_its_platform_is_removed_alone(home: Home) -> None:
    topic = "homeassistant/device/plug/config"
    said: dict[str, Any] = {"dev": {"ids": ["plug"], "name": "Plug"}, "o": {"name": "x"}, "stat_t": "plug"}
    said["cmps"] = {name: {"p": "sensor", "uniq_id": name, "name": name} for name in ("power", "energy")}
    await home.say(topic, said)
    await until(lambda: home.state("sensor.plug_energy") == "unknown")

    said["cmps"]["power"] = {"p": "sensor"}
    await home.say(topic, said)

    await until(lambda: home.state("sensor.plug_power") is None)
    assert home.state("sensor.plug_energy") == "unknown"


async def test_a_device_takes_over_what_was_announced_in_single_form(home: Home) -> None:
    single = "homeassistant/sensor/plug_power/config"
    device = {"ids": ["plug"], "name": "Plug"}
    await home.say(single, {"name": "Power", "uniq_id": "power", "stat_t": "plug", "dev": device})
    await until(lambda: home.state("sensor.plug_power") == "unknown")
    home.registry.update("entity", "sensor.plug_power", entity_id="sensor.mine")
    component = {"p": "sensor", "uniq_id": "power", "name": "Power", "stat_t": "plug/new"}

    await home.say(single, {"migrate_discovery": True})
    await home.say(
        "homeassistant/device/plug/config", {"dev": device, "o": {"name": "x"}, "cmps": {"power": component}}
    )
    await home.say(single)
    await home.say("plug/new", "5")

    await until(lambda: home.state("sensor.mine") == "5")
    assert len(home.states.all()) == 1


async def test_a_name_and_an_id_of_its_owners_stay_when_a_device_renames_itself(home: Home) -> None:
    await home.say(LAMP, SWITCH)
    await until(lambda: home.state("switch.lamp") is not None)
    await home.say(LAMP, {**SWITCH, "name": "Big lamp"})
    await until(lambda: home.attribute("switch.lamp", "friendly_name") == "Big lamp")

    home.registry.update("entity", "switch.lamp", entity_id="switch.mine", name="Mine")
    await home.say(LAMP, {**SWITCH, "name": "Bigger lamp", "icon": "mdi:lamp"})

    await until(lambda: home.attribute("switch.mine", "icon") == "mdi:lamp")
    assert home.attribute("switch.mine", "friendly_name") == "Mine"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("all", ["unavailable", "unavailable", "unknown", "unavailable"]),
        ("any", ["unavailable", "unknown", "unknown", "unknown"]),
        ("latest", ["unavailable", "unknown", "unknown", "unavailable"]),
    ],
)
async def test_availability_by_several_topics(home: Home, mode: str, expected: list[str]) -> None:
    topics = [{"topic": "a"}, {"topic": "b", "payload_available": "yes", "payload_not_available": "no"}]
    await home.say(LAMP, {**SWITCH, "availability": topics, "availability_mode": mode})
    await home.settle()
    found = [home.state("switch.lamp")]
    for topic, payload in (("a", "online"), ("b", "yes"), ("a", "offline")):
        await home.say(topic, payload)
        await home.settle()
        found.append(home.state("switch.lamp"))

    assert found == expected
    if expected[-1] == "unavailable":
        with pytest.raises(Unavailable):
            await home.call("switch.turn_on", entity_id="switch.lamp")


async def test_what_is_silent_for_too_long_is_unavailable_and_motion_ends_by_itself(home: Home) -> None:
    await home.say("homeassistant/sensor/t/config", {"name": "T", "uniq_id": "t", "stat_t": "t", "exp_aft": 60})
    await home.say("homeassistant/binary_sensor/m/config", {"name": "M", "uniq_id": "m", "stat_t": "m", "off_dly": 5})
    await home.say("t", "1")
    await home.say("m", "ON")
    await until(lambda: (home.state("sensor.t"), home.state("binary_sensor.m")) == ("1", "on"))

    await home.clock.advance(10)
    assert (home.state("sensor.t"), home.state("binary_sensor.m")) == ("1", "off")
    await home.clock.advance(60)
    assert home.state("sensor.t") == "unavailable"
    await home.say("t", "2")
    await until(lambda: home.state("sensor.t") == "2")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({**SWITCH, "command_topic": "homarus/node/a/request"}, "hub's own"),
        ({**SWITCH, "state_topic": "homarus/node/a/out"}, "for the hub alone"),
        ({**SWITCH, "command_topic": "homeassistant/switch/x/config"}, "announcements"),
        ({**SWITCH, "command_topic": "a/+"}, "command_topic"),
        ({**SWITCH, "state_topic": "$SYS/x"}, "state_topic"),
        ({**SWITCH, "state_topic": 5}, "state_topic"),
        ({**SWITCH, "value_template": "x" * 5_000}, "value_template"),
        ({**SWITCH, "unique_id": ["x"]}, "unique_id"),
        ({**SWITCH, "device": {"name": "x"}}, "identifiers or connections"),
        ({**SWITCH, "qos": "x"}, "qos"),
        ("[1, 2]", "JSON object"),
        ("{", "not JSON"),
        ("[" * 20_000, "not JSON"),
        (f'{{"name": "{"x" * 600_000}"}}', "too large"),
        ({"name": "Other", "unique_id": "taken", "command_topic": "x"}, "same unique_id"),
    ],
)
async def test_announcements_that_are_wrong_are_refused_and_named(home: Home, config: Any, words: str) -> None:
    await home.say("homeassistant/switch/first/config", {**SWITCH, "unique_id": "taken", "name": "First"})
    await until(lambda: home.state("switch.first") is not None)
    await home.say(LAMP, config)
    await home.settle()

    refused = (await home.ask("mqtt.discovered"))["refused"]

    assert [words in each["reason"] for each in refused] == [True], refused
    assert [each.entity_id for each in home.states.all()] == ["switch.first"]


async def test_a_value_that_cannot_be_changes_nothing(home: Home) -> None:
    number = {"name": "Level", "uniq_id": "n", "cmd_t": "n/set", "stat_t": "n", "max": 10}
    await home.say("homeassistant/number/n/config", number)
    await home.say("n", "4")
    await until(lambda: home.state("number.level") == "4")

    for payload in ("400", "NaN", "five", b"\xff", "{}", "x" * 300):
        await home.say("n", payload)
    await home.settle()

    assert home.state("number.level") == "4"
    with pytest.raises(InvalidRequest, match="from 1 to 10"):
        await home.call("number.set_value", entity_id="number.level", value=11)
    await home.say("n", "None")
    await until(lambda: home.state("number.level") == "unknown")


async def test_a_template_of_a_device_sees_its_payload_and_nothing_of_the_home(home: Home) -> None:
    home.states.set("sensor.secret", "1234")
    peek = "{{ states('sensor.secret') }}{{ states.sensor.secret.state }}{{ value }}"
    await home.say("homeassistant/sensor/a/config", {"name": "A", "uniq_id": "a", "stat_t": "a", "val_tpl": peek})
    greedy = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}x"
    await home.say("homeassistant/sensor/b/config", {"name": "B", "uniq_id": "b", "stat_t": "a", "val_tpl": greedy})
    await home.say("a", "seen {{ 6 * 7 }}")
    await until(lambda: home.state("sensor.a") not in (None, "unknown"))

    assert "1234" not in str(home.state("sensor.a"))
    assert "{{ 6 * 7 }}" in str(home.state("sensor.a"))
    assert home.state("sensor.b") == "unknown"


async def test_state_changes_count_as_words_from_outside_and_a_tag_is_an_event(home: Home) -> None:
    changed: list[bool] = []
    home.bus.listen("state_changed", lambda event: changed.append(event.context.authority.tainted))
    tags: list[str] = []
    home.bus.listen("tag_scanned", lambda event: tags.append(event.data["tag_id"]))
    await home.say("homeassistant/sensor/a/config", {"name": "A", "uniq_id": "a", "stat_t": "a"})
    await home.say("homeassistant/tag/r/config", {"topic": "reader", "val_tpl": "{{ value_json.uid }}"})
    await home.say("a", "5")
    await until(lambda: home.state("sensor.a") == "5")
    await home.settle()  # a tag is not retained: the hub must read its topic before
    await home.say("reader", {"uid": "E9F3"}, retain=False)
    await until(lambda: bool(tags))

    assert all(changed)
    assert tags == ["E9F3"]


async def test_entities_cannot_be_reached_while_the_broker_is_away(home: Home) -> None:
    await home.say(LAMP, SWITCH)
    await home.say("lamp", "ON")
    await until(lambda: home.state("switch.lamp") == "on")

    await home.registrations.undo_all()

    assert home.states.get("switch.lamp") is None
    with pytest.raises((NotFound, InvalidRequest)):
        await home.call("switch.turn_on", entity_id="switch.lamp")


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("clr_temp_stat_t", "color_temp_state_topic"),
        ("temp_hi_stat_tpl", "temperature_high_state_template"),
        ("pl_ret", "payload_return_to_base"),
        ("pl_rst_pr_mode", "payload_reset_preset_mode"),
        ("max_temp", "max_temp"),
        ("temp_step", "temp_step"),
        ("hum_cmd_tpl", "target_humidity_command_template"),
        ("sug_dsp_prc", "suggested_display_precision"),
        ("on_cmd_type", "on_command_type"),
        ("via_device", "via_device"),
        ("min_mirs", "min_mireds"),
        ("flsh_tlng", "flash_time_long"),
        ("color_temp_command_template", "color_temp_command_template"),
    ],
)
def test_short_keys(short: str, long: str) -> None:
    assert long_key(short) == long


async def test_a_filter_that_takes_what_nodes_say_does_not_show_it(home: Home) -> None:
    spy = {"name": "Spy", "unique_id": "spy", "state_topic": "homarus/#"}
    await home.say("homeassistant/sensor/spy/config", spy)
    await home.say("homarus/elsewhere", "hello")
    await until(lambda: home.state("sensor.spy") == "hello")

    await home.say("homarus/node/phone/out", "where I am")
    await home.settle()

    assert home.state("sensor.spy") == "hello"
