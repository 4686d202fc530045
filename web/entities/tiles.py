"""A device as a tile, and the effect of touching it. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.entities.domains import ONE_OF
from web.entities.state_texts import ATTRIBUTE_VALUES, BY_CLASS, OFF, STATES
from web.entities.weather import CONDITIONS

UNREACHABLE = "unavailable"
DOMAIN_ICONS: Mapping[str, str] = {
    "automation": "zap",
    "binary_sensor": "circle",
    "button": "play",
    "camera": "camera",
    "climate": "thermometer",
    "counter": "gauge",
    "cover": "blinds",
    "fan": "fan",
    "group": "layout-grid",
    "humidifier": "droplets",
    "input_boolean": "power",
    "input_button": "play",
    "input_datetime": "clock",
    "input_number": "gauge",
    "input_select": "list-checks",
    "input_text": "pencil",
    "light": "lightbulb",
    "lock": "lock",
    "media_player": "volume-2",
    "person": "user",
    "remote": "tv",
    "scene": "moon",
    "schedule": "calendar",
    "script": "scroll-text",
    "sensor": "gauge",
    "sun": "sun",
    "switch": "plug",
    "timer": "clock",
    "tts": "mic",
    "vacuum": "bot",
    "water_heater": "thermometer",
    "weather": "cloud-sun",
    "zone": "map-pin",
}
CLASS_ICONS: Mapping[str, str] = {
    "temperature": "thermometer",
    "humidity": "droplets",
    "moisture": "droplets",
    "illuminance": "sun",
    "power": "zap",
    "energy": "zap",
    "motion": "radar",
    "occupancy": "radar",
    "presence": "radar",
    "door": "door-open",
    "garage_door": "door-open",
    "opening": "door-open",
    "window": "layout-grid",
    "smoke": "triangle-alert",
    "gas": "triangle-alert",
    "problem": "triangle-alert",
    "lock": "lock",
    "battery": "gauge",
    "tv": "tv",
}
ICONS: Mapping[str, tuple[str, str]] = {
    "mdi:lightbulb": ("lightbulb", "Lamp"),
    "mdi:power-plug": ("plug", "Plug"),
    "mdi:power": ("power", "Switch"),
    "mdi:fan": ("fan", "Fan"),
    "mdi:thermometer": ("thermometer", "Temperature"),
    "mdi:water": ("droplets", "Water"),
    "mdi:weather-sunny": ("sun", "Sun"),
    "mdi:weather-night": ("moon", "Night"),
    "mdi:weather-partly-cloudy": ("cloud-sun", "Weather"),
    "mdi:blinds": ("blinds", "Blinds"),
    "mdi:door": ("door-open", "Door"),
    "mdi:lock": ("lock", "Padlock"),
    "mdi:key": ("key-round", "House key"),
    "mdi:motion-sensor": ("radar", "Movement"),
    "mdi:cctv": ("camera", "Camera"),
    "mdi:television": ("tv", "Television"),
    "mdi:speaker": ("volume-2", "Speaker"),
    "mdi:microphone": ("mic", "Microphone"),
    "mdi:washing-machine": ("washing-machine", "Washing machine"),
    "mdi:gauge": ("gauge", "Meter"),
    "mdi:flash": ("zap", "Energy"),
    "mdi:bell": ("bell", "Bell"),
    "mdi:alert": ("triangle-alert", "Warning"),
    "mdi:home": ("house", "House"),
    "mdi:account": ("user", "Person"),
    "mdi:cellphone": ("smartphone", "Phone"),
    "mdi:monitor": ("monitor", "Screen"),
    "mdi:server": ("server", "Server"),
    "mdi:palette": ("palette", "Scene"),
    "mdi:clock": ("clock", "Clock"),
    "mdi:robot": ("bot", "Robot"),
    "mdi:trash-can": ("trash-2", "Bin"),
    "mdi:email": ("mail", "Post"),
    "mdi:star": ("star", "Star"),
    "mdi:wrench": ("wrench", "Tool"),
}
"""By the name that integrations and people give: which of our icons shows it, and what it is in words."""
_LIT = frozenset(
    {"on", "open", "opening", "playing", "paused", "buffering", "cleaning", "heat", "cool", "heat_cool", "auto"}
)
_RUN = {"button": "press", "input_button": "press", "scene": "turn_on", "script": "turn_on", "vacuum": "start"}
"""Services of what is started rather than switched."""


class Slider(Struct, frozen=True):
    """A number that a service sets.

    Attributes:
        attribute: The attribute with its value; empty for the state itself.
        scale: The value of the attribute when the slider is at 1.
    """

    service: str
    field: str
    attribute: str
    scale: float = 1.0
    low: str = ""
    high: str = ""
    step: str = ""
    unit: str = "%"


SLIDERS: Mapping[str, Slider] = {
    "light": Slider("turn_on", "brightness_pct", "brightness", 2.55),
    "cover": Slider("set_cover_position", "position", "current_position"),
    "valve": Slider("set_valve_position", "position", "current_position"),
    "fan": Slider("set_percentage", "percentage", "percentage"),
    "media_player": Slider("volume_set", "volume_level", "volume_level", 0.01),
    "humidifier": Slider("set_humidity", "humidity", "humidity", 1, "min_humidity", "max_humidity"),
    "climate": Slider("set_temperature", "temperature", "temperature", 1, "min_temp", "max_temp", "", "°"),
    "water_heater": Slider("set_temperature", "temperature", "temperature", 1, "min_temp", "max_temp", "", "°"),
    "number": Slider("set_value", "value", "", 1, "min", "max", "step", ""),
    "input_number": Slider("set_value", "value", "", 1, "min", "max", "step", ""),
}
_SEEN = frozenset({"camera", "image"})
PLAYS = frozenset({"media_play_pause", "media_play", "media_pause"})
"""Any of these, and a player is paused and played."""
_WARM = frozenset({"climate", "water_heater"})
_SET = frozenset({"volume_set"})
"""Services whose field is a share of one, not a percentage."""


class Tile(Struct, frozen=True):
    """The data of the macro `tile`: `kind` is the kind of control, `state` is in words.

    Attributes:
        picture: The address of what is seen or played; that of a camera shows another picture each time.
        is_camera: Whether it is one.
    """

    kind: str
    icon: str
    state: str
    on: bool = False
    gone: bool = False
    value: float | None = None
    min: float = 0
    max: float = 100
    step: float = 1
    unit: str = "%"
    picture: str = ""
    is_camera: bool = False


class Choice(Struct, frozen=True):
    """One of several words that a service sets."""

    service: str
    label: str
    options: list[tuple[str, str]]
    value: str


def icon_of(entity: Mapping[str, Any]) -> str:
    """Return the icon of an entity, as `entities.list` has it."""
    own, _ = ICONS.get(entity.get("icon") or "", ("", ""))
    known = own or CLASS_ICONS.get(entity.get("device_class") or "")
    if entity["domain"] == "weather" and entity["state"] in CONDITIONS:
        known = known or CONDITIONS[entity["state"]][0]
    return known or DOMAIN_ICONS.get(entity["domain"], "puzzle")


def tile_of(entity: Mapping[str, Any], attributes: Mapping[str, Any], gettext: Callable[..., str]) -> Tile:
    """Return the tile of an entity.

    Args:
        entity: The entity as `entities.list` has it.
        attributes: The attributes of its state.
        gettext: Translates.
    """
    state, domain, can = entity["state"], entity["domain"], frozenset(entity["commands"])
    icon, said = icon_of(entity), state_text(entity, attributes, gettext)
    if state in (None, UNREACHABLE):
        return Tile("value", icon, said, gone=True)
    picture = picture_of(entity, attributes)
    if domain in _SEEN:
        return Tile("value", icon, said, picture=picture, is_camera=domain == "camera")
    on = state in _LIT and domain not in ("binary_sensor", "sensor", "person") and can != frozenset()
    slider = slider_of(entity, attributes)
    if domain == "media_player" and can & PLAYS:
        volume = None if slider is None else slider.value
        return Tile("player", icon, said, state == "playing", value=volume, picture=picture)
    if domain in _WARM and slider is not None:
        return Tile("thermostat", icon, said, on, value=slider.value, min=slider.min, max=slider.max, step=slider.step)
    if domain == "weather" and "get_forecasts" in can:
        return Tile("weather", icon, said)
    if domain == "cover":
        return Tile("cover", icon, said, on, value=None if slider is None else slider.value)
    if slider is not None and not can & {"turn_on", "turn_off", "toggle"}:
        return Tile("value", icon, said, on, False, slider.value, slider.min, slider.max, slider.step, slider.unit)
    if not can & {"turn_on", "turn_off", "toggle"}:
        return Tile("action" if _RUN.get(domain) in can else "value", icon, said, on)
    if domain in _RUN:
        return Tile("action", icon, said, on)
    if slider is not None:
        return Tile("slider", icon, said, on, False, slider.value, slider.min, slider.max, slider.step, slider.unit)
    return Tile("toggle", icon, said, on)


def picture_of(entity: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """Return the address of an entity's picture at the hub, another one for another song; empty if it has none."""
    path = str(attributes.get("entity_picture") or "")
    if not path.startswith("/api/"):
        return ""
    shown = str(attributes.get("media_content_id") or attributes.get("media_title") or "")
    if entity["domain"] == "image":
        shown = str(entity["state"])
    return f"{path}?of={crc32(shown.encode()):x}" if shown else path


class SliderNow(Struct, frozen=True):
    """A slider in its present position."""

    value: float
    min: float
    max: float
    step: float
    unit: str


def slider_of(entity: Mapping[str, Any], attributes: Mapping[str, Any]) -> SliderNow | None:
    """Return the number that can be set of an entity and is known now, or None."""
    slider = SLIDERS.get(entity["domain"])
    if slider is None or slider.service not in entity["commands"]:
        return None
    dims = attributes.get("supported_color_modes")
    if entity["domain"] == "light" and (dims == ["onoff"] or (dims is None and "brightness" not in attributes)):
        return None
    now = attributes.get(slider.attribute) if slider.attribute else entity["state"]
    try:
        value = round(float(now) / slider.scale, 2) if now is not None else 0.0
    except (TypeError, ValueError):
        return None
    is_warm = entity["domain"] in _WARM
    step = attributes.get("target_temp_step", 0.5) if is_warm else attributes.get(slider.step, 1)
    low, high = attributes.get(slider.low, 5 if is_warm else 0), attributes.get(slider.high, 35 if is_warm else 100)
    unit = slider.unit or str(entity["unit"] or "")
    return SliderNow(plain(value if step % 1 or is_warm else round(value)), low, high, step, unit)


def choices_of(entity: Mapping[str, Any], attributes: Mapping[str, Any], gettext: Callable[..., str]) -> list[Choice]:
    """Return the choices of an entity: modes, presets, sources."""
    found = []
    for field, (service, label, at) in ATTRIBUTE_VALUES.items():
        options = attributes.get(ONE_OF[field])
        if service in entity["commands"] and isinstance(options, list | tuple) and options:
            now = attributes.get(at) if at else entity["state"]
            texts = [(str(each), gettext(STATES.get(str(each), str(each)))) for each in options]
            found.append(Choice(service, label, texts, str(now)))
    return found


class Entry(Struct, frozen=True):
    """What is typed: the service that sets it, the widget, the value now, and the pattern it has to fit."""

    service: str
    label: str
    widget: str
    value: str
    pattern: str = ""


def entry_of(entity: Mapping[str, Any], attributes: Mapping[str, Any]) -> Entry | None:
    """Return what can be typed for an entity: a text, a date, a time; None if nothing."""
    domain, now = entity["domain"], entity["state"]
    known = "" if now in (None, "unknown", UNREACHABLE) else str(now)
    if domain in ("text", "input_text") and "set_value" in entity["commands"]:
        pattern = str(attributes.get("pattern") or "")
        is_hidden = attributes.get("mode") == "password"
        return Entry("set_value", "Text", "secret" if is_hidden else "text", "" if is_hidden else known, pattern)
    if "set_datetime" not in entity["commands"]:
        return None
    if attributes.get("has_date") and attributes.get("has_time"):
        return Entry("set_datetime", "Date and time", "datetime", known.replace(" ", "T")[:16])
    if attributes.get("has_date"):
        return Entry("set_datetime", "Date", "date", known)
    return Entry("set_datetime", "Time", "time", known[:5])


def command(entity: Mapping[str, Any], do: str, value: str) -> tuple[str, dict[str, Any]]:
    """Return the service, without its domain, and its data for the touched control.

    Args:
        do: `toggle`, `run`, `set`, `open`, `stop`, `close`, or a service of its domain.

    Raises:
        InvalidRequest: It cannot do that, or the value is not a number.
    """
    domain, can = entity["domain"], entity["commands"]
    if do == "toggle":
        back = "turn_off" if entity["state"] not in OFF else "turn_on"
        return ("toggle" if "toggle" in can else back), {}
    if do == "run":
        return _RUN.get(domain, "turn_on"), {}
    if do in ("open", "stop", "close"):
        return f"{do}_{domain}", {}
    if do == "set" and domain in SLIDERS:
        slider = SLIDERS[domain]
        try:
            number = float(value)
        except ValueError:
            raise InvalidRequest(f"value: expected a number, not {value!r}") from None
        if slider.service in _SET:
            number = round(number * slider.scale, 2)
        return slider.service, {slider.field: plain(number)}
    if do == "media_play_pause" and PLAYS & set(can):
        return do, {}
    if do not in can:
        raise InvalidRequest(f"{entity['shown_name']} cannot {do.replace('_', ' ')}")
    if do == "set_datetime":
        return do, {"datetime" if "T" in value else "time" if ":" in value else "date": value}
    if do == "set_value":
        return do, {"value": value}
    field = next((field for field, (service, _, _) in ATTRIBUTE_VALUES.items() if service == do), None)
    return do, {field: value} if field else {}


def state_text(entity: Mapping[str, Any], attributes: Mapping[str, Any], gettext: Callable[..., str]) -> str:
    """Return a state in words, with its important attributes."""
    said = value_text(entity, entity["state"], gettext)
    domain, more = entity["domain"], ""
    if entity["state"] in (None, UNREACHABLE):
        return said
    if domain in _WARM and attributes.get("current_temperature") is not None:
        said = gettext(STATES.get(str(attributes.get("hvac_action")), "")) if attributes.get("hvac_action") else said
        more = gettext("now {degrees}°", degrees=plain(attributes["current_temperature"]))
    elif domain == "light" and entity["state"] == "on" and attributes.get("brightness"):
        more = f"{round(attributes['brightness'] / 2.55)} %"
    elif domain == "cover" and 0 < (attributes.get("current_position") or 0) < 100:
        more = f"{attributes['current_position']} %"
    elif domain == "media_player" and entity["state"] in ("playing", "paused"):
        more = str(attributes.get("media_title") or "")
    elif domain == "weather" and attributes.get("temperature") is not None:
        more = f"{plain(attributes['temperature'])}\u00a0{attributes.get('temperature_unit', '°')}"
    elif domain == "vacuum" and attributes.get("battery_level") is not None:
        more = f"{attributes['battery_level']} %"
    return gettext("{state} · {more}", state=said, more=more) if more else said


def state_phrase(entity: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """Return a state in words, with its important attributes, as a phrase that a page translates."""
    return state_text(entity, attributes, phrase)


def value_text(entity: Mapping[str, Any], state: str | None, gettext: Callable[..., str]) -> str:
    """Return a state of an entity in words: `22.8 °C`, `Open`, `Motion`."""
    if state is None:
        return gettext("Not reachable")
    by_class = BY_CLASS.get(entity.get("device_class") or "") if entity["domain"] == "binary_sensor" else None
    if by_class is not None and state in ("on", "off"):
        return gettext(by_class[state == "on"])
    if entity["domain"] == "weather" and state in CONDITIONS:
        return gettext(CONDITIONS[state][1])
    if state in STATES:
        return gettext(STATES[state])
    return f"{state} {entity['unit']}" if entity.get("unit") else str(state)


def plain(value: float) -> float:
    """Return a whole number as one, for people."""
    return int(value) if value == int(value) else value
