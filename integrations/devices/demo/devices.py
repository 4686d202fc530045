"""The devices of the demo home: they follow the day by themselves, and obey commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.entities.description import DeviceInfo, EntityDescription
from integrations.devices.demo import daily
from integrations.devices.demo.story import Story

if TYPE_CHECKING:
    from hub.entities.entities import EntityHandle
    from hub.host import IntegrationHost

LOOK_EVERY_S = 5.0
"""How often the devices go on."""
STEP = 20
"""How far a cover moves and how much of a battery is charged from one look to the next, in percent."""
FULL = 255
DRIFT_C = 0.2

Attributes = dict[str, Any]
Look = Callable[[datetime], tuple[str, Attributes]]
Command = Callable[[Mapping[str, Any]], Awaitable[None]]


class DeviceModel(Struct, frozen=True):
    """What a device is, for its page."""

    manufacturer: str
    model: str
    sw_version: str = "1.4.2"


class Thing(Struct, frozen=True):
    """An entity of the home, alone on its device.

    Attributes:
        id: Its entity id.
        area: The area it is in.
        state: At the beginning.
        attributes: Beside the state at the beginning.
        can: Its abilities, such as modes; always part of its state.
        look: Its state by the time, for what changes by itself.
    """

    id: str
    area: str | None
    state: str = "off"
    attributes: Attributes = {}
    can: Attributes = {}
    device_class: str | None = None
    unit: str | None = None
    icon: str | None = None
    device: DeviceModel | None = None
    look: Look | None = None

    @property
    def domain(self) -> str:
        """Its domain."""
        return self.id.partition(".")[0]


class DemoDevices:
    """All of them.

    Args:
        host: The host of the integration.
        story: Their names.
    """

    def __init__(self, host: IntegrationHost, story: Story) -> None:
        self._host = host
        self._live = [LiveThing(host, story, thing) for thing in THINGS]

    async def live(self) -> None:
        """Update, a little at a time, for as long as the hub runs."""
        while True:
            now = self._host.clock.now().astimezone(self._host.time_zone)
            for each in self._live:
                each.go_on(now)
            await self._host.clock.sleep(LOOK_EVERY_S)


class LiveThing:
    """A thing with its state now."""

    def __init__(self, host: IntegrationHost, story: Story, thing: Thing) -> None:
        self._thing = thing
        self._state = thing.state
        self._attributes = dict(thing.attributes)
        self._goal: float | None = None
        object_id = thing.id.partition(".")[2]
        made = thing.device
        device = (
            None
            if made is None
            else DeviceInfo(
                identifiers=frozenset({object_id}),
                name=story.names[object_id],
                manufacturer=made.manufacturer,
                model=made.model,
                sw_version=made.sw_version,
                suggested_area=thing.area and story.names[thing.area],
            )
        )
        description = EntityDescription(
            thing.domain,
            object_id,
            None if device else story.names[object_id],
            object_id=object_id,
            device=device,
            device_class=thing.device_class,
            unit=thing.unit,
            icon=thing.icon,
            attributes=thing.can,
        )
        self._handle: EntityHandle = host.entities.add(description, self._commands())
        self._handle.set(self._state, self._attributes)
        if thing.state == UNREACHABLE:
            self._handle.available(False)

    def go_on(self, now: datetime) -> None:
        """Take the state of this time."""
        if self._thing.look is not None:
            self._state, self._attributes = self._thing.look(now)
        elif self._thing.domain == "cover":
            self._move()
        elif self._thing.domain == "climate":
            self._warm(now)
        elif self._thing.domain == "vacuum":
            self._clean()
        else:
            return
        self._show()

    def _show(self) -> None:
        self._handle.set(self._state, self._attributes)

    # --- by itself ---

    def _move(self) -> None:
        position = self._attributes["current_position"]
        if self._goal is None or position == self._goal:
            self._goal, self._state = None, "open" if position else "closed"
            return
        step = max(-STEP, min(STEP, self._goal - position))
        self._attributes["current_position"] = round(position + step)
        self._state = "opening" if step > 0 else "closing"

    def _warm(self, now: datetime) -> None:
        wanted, room = self._attributes["temperature"], self._attributes["current_temperature"]
        aims_at = wanted if self._state == "heat" else 16.5
        room += max(-DRIFT_C, min(DRIFT_C, aims_at - room)) + 0.05 * daily.noise(self._thing.id, now, 3)
        heats = self._state == "heat" and room < wanted - 0.1
        self._attributes["current_temperature"] = round(room, 1)
        self._attributes["hvac_action"] = "heating" if heats else "idle" if self._state == "heat" else "off"

    def _clean(self) -> None:
        battery = self._attributes["battery_level"]
        if self._state == "cleaning":
            battery -= 1
            self._state = "returning" if battery <= STEP else self._state
        elif self._state == "returning":
            self._state = "docked"
        elif battery < 100:
            battery = min(100, battery + STEP // 4)
        self._attributes["battery_level"] = battery

    # --- as told ---

    def _commands(self) -> Mapping[str, Command]:
        name = self._thing.domain
        return {service: self._doing(does) for service, does in getattr(self, f"_as_{name}", dict)().items()}

    def _doing(self, does: Callable[[Mapping[str, Any]], str | None]) -> Command:
        async def command(data: Mapping[str, Any]) -> None:
            self._state = does(data) or self._state
            self._show()

        return command

    def _as_switch(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        return {
            "turn_on": lambda data: "on",
            "turn_off": lambda data: "off",
            "toggle": lambda data: "off" if self._state == "on" else "on",
        }

    def _as_light(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        def turn_on(data: Mapping[str, Any]) -> str:
            level = self._attributes.get("brightness") or FULL
            if "brightness_pct" in data:
                level = data["brightness_pct"] * FULL / 100
            if "brightness_step_pct" in data:
                level += data["brightness_step_pct"] * FULL / 100
            level = data.get("brightness", level)
            if level <= 0:
                return turn_off(data)
            known = {key: data[key] for key in ("color_temp_kelvin", "rgb_color", "effect") if key in data}
            self._attributes |= {"brightness": round(max(1, min(FULL, level))), **known}
            return "on"

        def turn_off(data: Mapping[str, Any]) -> str:
            return "off"

        return {
            "turn_on": turn_on,
            "turn_off": turn_off,
            "toggle": lambda data: turn_off(data) if self._state == "on" else turn_on(data),
        }

    def _as_cover(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        def to(position: float) -> Callable[[Mapping[str, Any]], str | None]:
            def go(data: Mapping[str, Any]) -> str | None:
                self._goal = data.get("position", position)
                self._move()
                return None

            return go

        def toggle(data: Mapping[str, Any]) -> str | None:
            return to(0 if self._attributes["current_position"] else 100)({})

        def stop(data: Mapping[str, Any]) -> str:
            self._goal = None
            return "open" if self._attributes["current_position"] else "closed"

        return {
            "open_cover": to(100),
            "close_cover": to(0),
            "set_cover_position": to(0),
            "stop_cover": stop,
            "toggle": toggle,
        }

    def _as_climate(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        def temperature(data: Mapping[str, Any]) -> str | None:
            self._attributes["temperature"] = data.get("temperature", self._attributes["temperature"])
            return data.get("hvac_mode")

        return {
            "turn_on": lambda data: "heat",
            "turn_off": lambda data: "off",
            "toggle": lambda data: "off" if self._state == "heat" else "heat",
            "set_temperature": temperature,
            "set_hvac_mode": lambda data: str(data["hvac_mode"]),
        }

    def _as_lock(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        return {"lock": lambda data: "locked", "unlock": lambda data: "unlocked"}

    def _as_media_player(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        def keep(key: str, given: str) -> Callable[[Mapping[str, Any]], str | None]:
            def put(data: Mapping[str, Any]) -> None:
                self._attributes[key] = data[given]

            return put

        def louder(by: float) -> Callable[[Mapping[str, Any]], str | None]:
            def turn(data: Mapping[str, Any]) -> None:
                self._attributes["volume_level"] = round(max(0, min(1, self._attributes["volume_level"] + by)), 2)

            return turn

        return {
            "turn_on": lambda data: "idle",
            "turn_off": lambda data: "off",
            "toggle": lambda data: "idle" if self._state == "off" else "off",
            "media_play": lambda data: "playing",
            "media_pause": lambda data: "paused",
            "media_play_pause": lambda data: "paused" if self._state == "playing" else "playing",
            "media_stop": lambda data: "idle",
            "volume_set": keep("volume_level", "volume_level"),
            "volume_mute": keep("is_volume_muted", "is_volume_muted"),
            "select_source": keep("source", "source"),
            "volume_up": louder(0.05),
            "volume_down": louder(-0.05),
        }

    def _as_vacuum(self) -> dict[str, Callable[[Mapping[str, Any]], str | None]]:
        def speed(data: Mapping[str, Any]) -> None:
            self._attributes["fan_speed"] = data["fan_speed"]

        return {
            "start": lambda data: "cleaning",
            "pause": lambda data: "paused",
            "stop": lambda data: "idle",
            "return_to_base": lambda data: "returning",
            "locate": lambda data: None,
            "set_fan_speed": speed,
        }


UNREACHABLE = "unavailable"


def _number(value: daily.Daily, digits: int = 1) -> Look:
    return lambda now: (f"{value(now):.{digits}f}", {})


def _is(value: Callable[[datetime], bool], yes: str = "on", no: str = "off") -> Look:
    return lambda now: (yes if value(now) else no, {})


def _never(now: datetime) -> bool:
    return False


def _sensor(id: str, area: str | None, kind: str, unit: str, value: daily.Daily, digits: int = 1) -> Thing:
    can = {"state_class": "measurement"}
    device = DeviceModel("Nordlicht", f"{kind.capitalize()} sensor", "2.1.0")
    return Thing(
        f"sensor.{id}", area, can=can, device_class=kind, unit=unit, device=device, look=_number(value, digits)
    )


def _climate(id: str, area: str, wanted: float) -> Thing:
    can = {"hvac_modes": ["off", "heat"], "min_temp": 7, "max_temp": 28, "target_temp_step": 0.5}
    now = {"temperature": wanted, "current_temperature": wanted - 0.4, "hvac_action": "heating"}
    return Thing(f"climate.{id}", area, "heat", now, can, device=DeviceModel("Warmhaus", "Radiator valve R2"))


def _light(id: str, area: str, state: str = "off", percent: int = 100, *, white: bool = False) -> Thing:
    modes = ["color_temp"] if white else ["brightness"]
    can: Attributes = {"supported_color_modes": modes}
    now: Attributes = {"brightness": round(percent * FULL / 100)}
    if white:
        can |= {"min_color_temp_kelvin": 2_200, "max_color_temp_kelvin": 6_500}
        now |= {"color_temp_kelvin": 2_700}
    return Thing(f"light.{id}", area, state, now, can, device=DeviceModel("Glimmer", "Bulb E27"))


def _cover(id: str, area: str, position: int) -> Thing:
    state = "open" if position else "closed"
    now = {"current_position": position}
    return Thing(f"cover.{id}", area, state, now, device_class="blind", device=DeviceModel("Schatten", "Motor 25"))


def _contact(id: str, area: str, kind: str, look: Look) -> Thing:
    device = DeviceModel("Nordlicht", f"{kind.capitalize()} sensor", "2.1.0")
    return Thing(f"binary_sensor.{id}", area, device_class=kind, device=device, look=look)


def _person(id: str) -> Thing:
    return Thing(f"person.{id}", None, "home", look=_is(lambda now: daily.is_home(id, now), "home", "not_home"))


_PLAYER = {"volume_level": 0.3, "is_volume_muted": False, "source": "Radio", "media_title": "Goldberg Variations"}
THINGS = (
    _light("sofa_lamp", "living_room", "on", 31),
    _light("ceiling_lamp", "living_room", white=True),
    _cover("living_room_blind", "living_room", 100),
    _climate("living_room_heating", "living_room", 21.0),
    _sensor("living_room_temperature", "living_room", "temperature", "°C", daily.wave("living", 21.2, 0.8, 20, 0.3)),
    _sensor("living_room_humidity", "living_room", "humidity", "%", daily.wave("damp", 46, 3, 5, 2), 0),
    Thing(
        "media_player.living_room_speaker",
        "living_room",
        "paused",
        _PLAYER,
        {"source_list": ["Radio", "Spotify", "Bluetooth"]},
        device=DeviceModel("Klang", "One"),
    ),
    Thing(
        "vacuum.robot",
        "living_room",
        "docked",
        {"battery_level": 100, "fan_speed": "standard"},
        {"fan_speed_list": ["quiet", "standard", "strong"]},
        device=DeviceModel("Krümel", "S5", "3.0.8"),
    ),
    _light("kitchen_lamp", "kitchen", white=True),
    _sensor("kitchen_temperature", "kitchen", "temperature", "°C", daily.wave("kitchen", 22.4, 0.9, 19, 0.4)),
    _sensor("kitchen_humidity", "kitchen", "humidity", "%", daily.wave("steam", 51, 6, 19, 3), 0),
    Thing("switch.coffee_machine", "kitchen", device_class="outlet", device=DeviceModel("Stecker", "Plug 16A")),
    _contact("kitchen_window", "kitchen", "window", _is(lambda now: now.hour == 7 and now.minute < 20)),
    _light("hall_lamp", "hall", "off", 60),
    _contact("hall_motion", "hall", "motion", _is(daily.is_moving)),
    _sensor("hall_brightness", "hall", "illuminance", "lx", daily.brightness, 0),
    Thing("lock.front_door", "hall", "locked", device=DeviceModel("Riegel", "Lock 3")),
    _contact("front_door_contact", "hall", "door", _is(lambda now: daily.is_moving(now) and now.minute % 30 < 1)),
    _sensor("washer_power", "utility_room", "power", "W", daily.washer_power, 0),
    _contact("washer_leak", "utility_room", "moisture", _is(_never)),
    _sensor("boiler_pressure", "utility_room", "pressure", "bar", daily.wave("boiler", 1.6, 0.05, 15, 0.04), 2),
    _light("bedside_lamp", "bedroom", "off", 40),
    _climate("bedroom_heating", "bedroom", 18.5),
    _cover("bedroom_blind", "bedroom", 0),
    _sensor("bedroom_co2", "bedroom", "carbon_dioxide", "ppm", daily.wave("breath", 760, 280, 4, 60), 0),
    _light("night_light", "childs_room", "on", 12),
    _sensor("childs_room_temperature", "childs_room", "temperature", "°C", daily.wave("child", 20.6, 0.7, 18, 0.3)),
    _sensor("bathroom_humidity", "bathroom", "humidity", "%", daily.wave("shower", 58, 11, 7, 5), 0),
    Thing(
        "switch.bathroom_fan",
        "bathroom",
        device_class="switch",
        icon="mdi:fan",
        device=DeviceModel("Stecker", "Relay 1"),
    ),
    Thing("light.garden_lights", "garden", UNREACHABLE, device=DeviceModel("Glimmer", "Path light")),
    _sensor("garden_temperature", "garden", "temperature", "°C", daily.wave("garden", 6.5, 4.2, 14, 1.2)),
    _sensor("house_power", "utility_room", "power", "W", daily.house_power, 0),
    _sensor("solar_power", "garden", "power", "W", daily.solar_power, 0),
    _person("ada"),
    _person("ben"),
    _person("mia"),
)
