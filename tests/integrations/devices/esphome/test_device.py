"""Connecting: keys, the right device, its entities, and its coming and going."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.schema import Invalid
from integrations.devices.esphome.schema import CONFIG_SCHEMA
from tests.integrations.devices.esphome.kit import KEY, OTHER_KEY, at, call, home, problem, shows
from tests.servers.esphome_device import EsphomeDouble, api
from tests.until import until

LAMP = api.ListEntitiesSwitchResponse(object_id="lamp", key=7, name="Lamp")
WARM = api.ListEntitiesSensorResponse(
    object_id="warm", key=7, name="Warm", unit_of_measurement="°C", accuracy_decimals=1, state_class=1
)
BASIC = ((LAMP, api.SwitchStateResponse(key=7, state=True)), (WARM, api.SensorStateResponse(key=7, state=21.26)))


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
async def test_a_device_is_there_away_and_back(tmp_path: Path, key: str | None) -> None:
    async with EsphomeDouble("kitchen", key=key, entities=BASIC, friendly_name="Kitchen") as device:
        config = at(device, name="kitchen", mac="020000aabbcc", **({"encryption_key": key} if key else {}))
        async with home(tmp_path, config) as hub:
            await until(lambda: shows(hub, "switch.kitchen_lamp", "on"))
            assert shows(hub, "sensor.kitchen_warm", "21.3", unit_of_measurement="°C", state_class="measurement")
            await device.switch_off()
            await until(lambda: shows(hub, "switch.kitchen_lamp", "unavailable"))
            with pytest.raises(Unavailable):
                await call(hub, "switch.turn_off", "switch.kitchen_lamp")
            device.entities = [(LAMP, api.SwitchStateResponse(key=7, state=False))]
            await device.switch_on()
            await until(lambda: shows(hub, "switch.kitchen_lamp", "off"))
            await call(hub, "switch.turn_on", "switch.kitchen_lamp")
            await until(lambda: device.commands)

            assert device.commands == [api.SwitchCommandRequest(key=7, state=True)]
            assert hub.states.get("sensor.kitchen_warm") is None
            entry = next(iter(hub.entities.registry.devices.values()))
            assert (entry.name, entry.manufacturer, entry.model) == ("Kitchen", "Nabu Casa", "Voice PE")
            assert problem(hub) == ""


@pytest.mark.parametrize("key", ["no key", "c2VjcmV0", KEY[:-1]])
def test_what_can_be_no_key_is_refused_as_it_is_written(key: str) -> None:
    with pytest.raises(Invalid, match="44 characters"):
        CONFIG_SCHEMA([{"host": "kitchen.local", "encryption_key": key}])


@pytest.mark.parametrize(
    ("has", "given", "said"),
    [
        (KEY, {"encryption_key": OTHER_KEY}, "key of kitchen-voice is not the right one"),
        (KEY, {}, "is encrypted"),
        (None, {"encryption_key": KEY}, "does not encrypt"),
        (None, {"name": "bath-voice"}, "answers another device, kitchen-voice (02:00:00:AA:BB:CC)"),
        (KEY, {"encryption_key": KEY, "mac": "02:00:00:aa:bb:cd"}, "esphome: mac says 02:00:00:aa:bb:cd"),
    ],
)
async def test_what_is_wrong_is_said_and_nothing_is_sent(
    tmp_path: Path, has: str | None, given: dict[str, Any], said: str
) -> None:
    async with (
        EsphomeDouble(key=has, entities=BASIC) as device,
        home(tmp_path, {"name": "kitchen-voice", **at(device), **given}) as hub,
    ):
        text = await until(lambda: problem(hub))

        assert said in text
        assert not device.subscribed.is_set()
        assert hub.states.all("switch") == []


async def test_one_that_was_never_reached_is_told_of_and_one_that_was_is_just_away(tmp_path: Path) -> None:
    async with EsphomeDouble(entities=BASIC) as device:
        await device.switch_off()
        async with home(tmp_path, at(device)) as hub:
            assert "cannot be reached" in await until(lambda: problem(hub))
            await device.switch_on()
            await until(lambda: problem(hub) == "")
            await device.switch_off()
            before = device.connections
            await until(lambda: shows(hub, "switch.kitchen_voice_lamp", "unavailable"))
            await device.switch_on()
            await until(lambda: device.connections > before)

            assert problem(hub) == ""


async def test_one_that_is_away_when_the_hub_starts_is_known_from_before(tmp_path: Path) -> None:
    async with EsphomeDouble(entities=BASIC) as device:
        async with home(tmp_path, at(device)) as hub:
            await until(lambda: shows(hub, "switch.kitchen_voice_lamp", "on"))
            await until(lambda: list((tmp_path / "home/.storage/integrations/esphome").glob("*.json")))
        await device.switch_off()
        async with home(tmp_path, at(device)) as hub:
            await until(lambda: shows(hub, "switch.kitchen_voice_lamp", "unavailable"))
            assert [each.info.id for each in hub.satellites_here().all()] == ["esphome_020000aabbcc"]
            assert problem(hub) == ""
            await device.switch_on()
            await until(lambda: shows(hub, "switch.kitchen_voice_lamp", "on"))
        async with home(tmp_path, at(device, name="bath-voice")) as hub:
            assert "answers another device" in await until(lambda: problem(hub))
            assert hub.states.get("switch.kitchen_voice_lamp") is None


async def test_two_of_one_name_are_two_and_one_that_is_written_twice_is_one(tmp_path: Path) -> None:
    first, second = EsphomeDouble(entities=BASIC), EsphomeDouble(mac="02:00:00:AA:BB:DD", entities=BASIC)
    async with first, second, home(tmp_path, at(first), at(second), {**at(first), "host": "localhost"}) as hub:
        await until(
            lambda: shows(hub, "switch.kitchen_voice_lamp", "on") and shows(hub, "switch.kitchen_voice_lamp_2", "on")
        )

        assert "is the same device as" in await until(lambda: problem(hub))
        assert len(hub.entities.registry.devices) == 2


ALL: dict[str, tuple[Any, Any, str, dict[str, Any]]] = {
    "binary_sensor.kitchen_voice_door": (
        api.ListEntitiesBinarySensorResponse(object_id="door", key=1, name="Door", device_class="door"),
        api.BinarySensorStateResponse(key=1, state=True),
        "on",
        {"device_class": "door"},
    ),
    "sensor.kitchen_voice_version": (
        api.ListEntitiesTextSensorResponse(object_id="version", key=2, name="Version", entity_category=2),
        api.TextSensorStateResponse(key=2, state="x" * 300),
        "x" * 255,
        {},
    ),
    "sensor.kitchen_voice_nothing": (
        api.ListEntitiesSensorResponse(object_id="nothing", key=3, name="Nothing"),
        api.SensorStateResponse(key=3, state=float("nan")),
        "unknown",
        {},
    ),
    "number.kitchen_voice_gain": (
        api.ListEntitiesNumberResponse(object_id="gain", key=4, name="Gain", min_value=0, max_value=31, step=0.5),
        api.NumberStateResponse(key=4, state=7.5),
        "7.5",
        {"min": 0, "max": 31, "step": 0.5},
    ),
    "select.kitchen_voice_noise": (
        api.ListEntitiesSelectResponse(object_id="noise", key=5, name="Noise", options=["Off", "Max"]),
        api.SelectStateResponse(key=5, state="Off"),
        "Off",
        {"options": ["Off", "Max"]},
    ),
    "lock.kitchen_voice_gate": (
        api.ListEntitiesLockResponse(object_id="gate", key=6, name="Gate", supports_open=True),
        api.LockStateResponse(key=6, state=1),
        "locked",
        {},
    ),
    "cover.kitchen_voice_blind": (
        api.ListEntitiesCoverResponse(
            object_id="blind", key=8, name="Blind", supports_position=True, supports_tilt=True, supports_stop=True
        ),
        api.CoverStateResponse(key=8, position=0.25, tilt=0.5, current_operation=2),
        "closing",
        {"current_position": 25, "current_tilt_position": 50},
    ),
    "fan.kitchen_voice_fan": (
        api.ListEntitiesFanResponse(
            object_id="fan", key=9, name="Fan", supports_speed=True, supported_speed_count=4, supports_direction=True
        ),
        api.FanStateResponse(key=9, state=True, speed_level=3, direction=1),
        "on",
        {"percentage": 75, "direction": "reverse"},
    ),
    "light.kitchen_voice_ring": (
        api.ListEntitiesLightResponse(
            object_id="ring",
            key=10,
            name="Ring",
            supported_color_modes=[35, 11],
            min_mireds=153,
            max_mireds=500,
            effects=["None"],
        ),
        api.LightStateResponse(
            key=10,
            state=True,
            brightness=0.5,
            color_mode=35,
            color_brightness=1,
            red=1,
            green=0.2,
            blue=0,
            effect="None",
        ),
        "on",
        {
            "brightness": 128,
            "rgb_color": [255, 51, 0],
            "color_mode": "rgb",
            "supported_color_modes": ["color_temp", "rgb"],
        },
    ),
    "media_player.kitchen_voice_player": (
        api.ListEntitiesMediaPlayerResponse(object_id="player", key=11, name="Player", supports_pause=True),
        api.MediaPlayerStateResponse(key=11, state=4, volume=0.3),
        "playing",
        {"volume_level": 0.3, "is_volume_muted": False},
    ),
    "climate.kitchen_voice_heat": (
        api.ListEntitiesClimateResponse(
            object_id="heat",
            key=12,
            name="Heat",
            supports_current_temperature=True,
            supported_modes=[0, 3],
            visual_min_temperature=7,
            visual_max_temperature=30,
            visual_target_temperature_step=0.5,
        ),
        api.ClimateStateResponse(key=12, mode=3, current_temperature=19.5, target_temperature=21),
        "heat",
        {"temperature": 21, "current_temperature": 19.5, "hvac_modes": ["off", "heat"], "max_temp": 30},
    ),
    "text.kitchen_voice_sign": (
        api.ListEntitiesTextResponse(object_id="sign", key=13, name="Sign", max_length=40),
        api.TextStateResponse(key=13, state="Hello"),
        "Hello",
        {"max": 40},
    ),
    "valve.kitchen_voice_water": (
        api.ListEntitiesValveResponse(object_id="water", key=14, name="Water", supports_stop=True),
        api.ValveStateResponse(key=14, position=0),
        "closed",
        {},
    ),
    "button.kitchen_voice_restart": (
        api.ListEntitiesButtonResponse(object_id="restart", key=15, name="Restart", device_class="restart"),
        None,
        "unknown",
        {"device_class": "restart"},
    ),
    "event.kitchen_voice_button": (
        api.ListEntitiesEventResponse(object_id="button", key=16, name="Button", event_types=["single", "double"]),
        None,
        "unknown",
        {"event_types": ["single", "double"]},
    ),
}
COMMANDS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("number.set_value", "number.kitchen_voice_gain", {"value": 3}, api.NumberCommandRequest(key=4, state=3)),
    (
        "select.select_option",
        "select.kitchen_voice_noise",
        {"option": "Max"},
        api.SelectCommandRequest(key=5, state="Max"),
    ),
    ("lock.unlock", "lock.kitchen_voice_gate", {}, api.LockCommandRequest(key=6, command=0)),
    (
        "cover.set_cover_position",
        "cover.kitchen_voice_blind",
        {"position": 50},
        api.CoverCommandRequest(key=8, has_position=True, position=0.5),
    ),
    ("cover.stop_cover", "cover.kitchen_voice_blind", {}, api.CoverCommandRequest(key=8, stop=True)),
    (
        "fan.set_percentage",
        "fan.kitchen_voice_fan",
        {"percentage": 30},
        api.FanCommandRequest(key=9, has_state=True, state=True, has_speed_level=True, speed_level=2),
    ),
    (
        "light.turn_on",
        "light.kitchen_voice_ring",
        {"color_temp_kelvin": 4000, "transition": 1},
        api.LightCommandRequest(
            key=10,
            has_state=True,
            state=True,
            has_color_mode=True,
            color_mode=11,
            has_color_temperature=True,
            color_temperature=250,
            has_transition_length=True,
            transition_length=1000,
        ),
    ),
    (
        "light.turn_on",
        "light.kitchen_voice_ring",
        {"hs_color": [120, 100], "brightness_pct": 100},
        api.LightCommandRequest(
            key=10,
            has_state=True,
            state=True,
            has_brightness=True,
            brightness=1,
            has_color_mode=True,
            color_mode=35,
            has_color_brightness=True,
            color_brightness=1,
            has_rgb=True,
            green=1,
        ),
    ),
    (
        "media_player.play_media",
        "media_player.kitchen_voice_player",
        {"media_content_id": "http://127.0.0.1:9/a.mp3", "media_content_type": "music", "announce": True},
        api.MediaPlayerCommandRequest(
            key=11, has_media_url=True, media_url="http://127.0.0.1:9/a.mp3", has_announcement=True, announcement=True
        ),
    ),
    (
        "climate.set_temperature",
        "climate.kitchen_voice_heat",
        {"temperature": 22.5, "hvac_mode": "heat"},
        api.ClimateCommandRequest(key=12, has_mode=True, mode=3, has_target_temperature=True, target_temperature=22.5),
    ),
    ("text.set_value", "text.kitchen_voice_sign", {"value": "Bye"}, api.TextCommandRequest(key=13, state="Bye")),
    (
        "valve.open_valve",
        "valve.kitchen_voice_water",
        {},
        api.ValveCommandRequest(key=14, has_position=True, position=1),
    ),
    ("button.press", "button.kitchen_voice_restart", {}, api.ButtonCommandRequest(key=15)),
]


async def test_each_kind_of_entity_shows_its_state_and_does_its_commands(tmp_path: Path) -> None:
    device = EsphomeDouble(entities=[(entity, state) for entity, state, *_ in ALL.values()])
    async with device, home(tmp_path, at(device)) as hub:
        await until(lambda: shows(hub, "text.kitchen_voice_sign", "Hello"))
        wrong = [id for id, (*_, state, more) in ALL.items() if not shows(hub, id, state, **more)]
        for service, entity_id, data, _ in COMMANDS:
            await call(hub, service, entity_id, **data)
        await until(lambda: len(device.commands) >= len(COMMANDS))
        device.send(api.EventResponse(key=16, event_type="double"))
        await until(lambda: "double" in str(hub.states.get("event.kitchen_voice_button")))
        with pytest.raises(InvalidRequest, match="not frost"):
            await call(hub, "climate.set_hvac_mode", "climate.kitchen_voice_heat", hvac_mode="frost")

    assert wrong == []
    assert device.commands == [wanted for *_, wanted in COMMANDS]


async def test_parts_of_a_device_are_devices_of_their_own(tmp_path: Path) -> None:
    lamp = api.ListEntitiesSwitchResponse(object_id="lamp", key=7, name="Lamp", device_id=5)
    info: dict[str, Any] = {
        "areas": [api.AreaInfo(area_id=1, name="Bath")],
        "devices": [api.DeviceInfo(device_id=5, name="Mirror", area_id=1)],
    }
    async with (
        EsphomeDouble(entities=[*BASIC, (lamp, None)], **info) as device,
        home(tmp_path, at(device, area="Kitchen")) as hub,
    ):
        await until(lambda: shows(hub, "switch.kitchen_voice_lamp", "on"))
        device.send(api.SwitchStateResponse(key=7, device_id=5, state=False))
        await until(lambda: shows(hub, "switch.mirror_lamp", "off"))

        assert shows(hub, "switch.kitchen_voice_lamp", "on")
        registry = hub.entities.registry
        places = {each.name: registry.areas[each.area_id].name for each in registry.devices.values() if each.area_id}
        assert places == {"kitchen-voice": "Kitchen", "Mirror": "Bath"}
