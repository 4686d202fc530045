"""Lights: their colours, which ESPHome gives as parts of one, and which part counts as a mode of bits."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aioesphomeapi.client import APIClient
from aioesphomeapi.model import LightColorCapability, LightInfo, LightState

_BRIGHTNESS, _WHITE = LightColorCapability.BRIGHTNESS, LightColorCapability.WHITE
_TEMPERATURE, _TWO_WHITES = LightColorCapability.COLOR_TEMPERATURE, LightColorCapability.COLD_WARM_WHITE
_RGB = LightColorCapability.RGB
_MIRED = 1_000_000
FLASHES_S = {"short": 2.0, "long": 10.0}


def _names(mode: int) -> set[str]:
    """Return what Home Assistant calls a mode."""
    if mode & _RGB:
        if mode & _TWO_WHITES:
            return {"rgbww"}
        return ({"rgb", "color_temp"} if mode & _TEMPERATURE else {"rgbw"}) if mode & _WHITE else {"rgb"}
    if mode & (_TEMPERATURE | _TWO_WHITES):
        return {"color_temp"}
    if mode & _WHITE and not mode & _BRIGHTNESS:
        return {"white"}
    return {"brightness"} if mode & (_BRIGHTNESS | _WHITE) else {"onoff"}


def _mode_with(info: LightInfo, *bits: int) -> int | None:
    """Return the mode with all of some bits that has the fewest others."""
    wanted = 0
    for each in bits:
        wanted |= each
    fitting = [int(each) for each in info.supported_color_modes if each & wanted == wanted]
    return min(fitting, key=int.bit_count, default=None)


def light_attributes(info: LightInfo) -> Mapping[str, Any]:
    """Return what a light can do."""
    modes = {name for each in info.supported_color_modes for name in _names(each)} or {"onoff"}
    if len(modes) > 1:
        modes -= {"onoff", "brightness"}
    found: dict[str, Any] = {"supported_color_modes": sorted(modes)}
    if "color_temp" in modes and info.min_mireds and info.max_mireds:
        found |= {
            "min_color_temp_kelvin": round(_MIRED / info.max_mireds),
            "max_color_temp_kelvin": round(_MIRED / info.min_mireds),
        }
    return {**found, **({"effect_list": info.effects} if info.effects else {})}


def read_light(info: LightInfo, state: LightState) -> tuple[str | None, Mapping[str, Any]]:
    """Return what a state says."""
    if not state.state:
        return "off", {}
    mode = int(state.color_mode)
    said: dict[str, Any] = {"effect": state.effect} if info.effects else {}
    if mode & ~LightColorCapability.ON_OFF:
        said["brightness"] = round(255 * state.brightness)
    rgb = [round(255 * each * state.color_brightness) for each in (state.red, state.green, state.blue)]
    names = _names(mode)
    if mode & _TWO_WHITES and mode & _RGB:
        said["rgbww_color"] = [*rgb, round(255 * state.cold_white), round(255 * state.warm_white)]
    elif names == {"rgbw"}:
        said["rgbw_color"] = [*rgb, round(255 * state.white)]
    elif "rgb" in names and (names == {"rgb"} or state.color_brightness):
        said["rgb_color"] = rgb
        names = {"rgb"}
    elif "color_temp" in names:
        names = {"color_temp"}
        if mireds := _mireds(info, mode, state):
            said["color_temp_kelvin"] = round(_MIRED / mireds)
    return "on", {**said, "color_mode": next(iter(names))}


def _mireds(info: LightInfo, mode: int, state: LightState) -> float:
    if mode & _TEMPERATURE:
        return state.color_temperature
    both = state.cold_white + state.warm_white
    return info.min_mireds + (info.max_mireds - info.min_mireds) * state.warm_white / both if both else 0


def light_commands(info: LightInfo) -> Mapping[str, Callable[[APIClient, Mapping[str, Any]], None]]:
    """Return the commands of a light."""

    def fades(data: Mapping[str, Any]) -> dict[str, Any]:
        length = FLASHES_S.get(data.get("flash", ""))
        return {
            "transition_length": data.get("transition"),
            "flash_length": length,
            "key": info.key,
            "device_id": info.device_id,
        }

    def turn_on(client: APIClient, data: Mapping[str, Any]) -> None:
        brightness = data["brightness"] / 255 if "brightness" in data else None
        client.light_command(
            state=True, brightness=brightness, effect=data.get("effect"), **_colour(info, data), **fades(data)
        )

    return {
        "turn_on": turn_on,
        "turn_off": lambda client, data: client.light_command(state=False, **fades(data)),
    }


def _colour(info: LightInfo, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a command that set its colour, for a mode that the light has."""
    if "rgbww_color" in data and (mode := _mode_with(info, _RGB, _TWO_WHITES)) is not None:
        *rgb, cold, warm = data["rgbww_color"]
        return {"color_mode": mode, **_rgb(rgb), "cold_white": cold / 255, "warm_white": warm / 255}
    if "rgbw_color" in data and (mode := _mode_with(info, _RGB, _WHITE)) is not None:
        *rgb, white = data["rgbw_color"]
        return {"color_mode": mode, **_rgb(rgb), "white": white / 255}
    if (said := _as_rgb(data)) is not None and (mode := _mode_with(info, _RGB)) is not None:
        white = {"white": 0.0} if mode & _WHITE else {}
        whites = {"cold_white": 0.0, "warm_white": 0.0} if mode & _TWO_WHITES else {}
        return {"color_mode": mode, **_rgb(said), **white, **whites}
    if "color_temp_kelvin" in data:
        return _temperature(info, _MIRED / data["color_temp_kelvin"])
    if "white" in data and (mode := _mode_with(info, _WHITE)) is not None:
        return {"color_mode": mode, "white": data["white"] / 255}
    return {}


def _temperature(info: LightInfo, mireds: float) -> dict[str, Any]:
    if (mode := _mode_with(info, _TEMPERATURE)) is not None:
        own = {"color_brightness": 0.0, "white": 1.0} if mode & _RGB else {}
        return {"color_mode": mode, "color_temperature": mireds, **own}
    if (mode := _mode_with(info, _TWO_WHITES)) is None or info.max_mireds <= info.min_mireds:
        return {}
    warm = max(0.0, min(1.0, (mireds - info.min_mireds) / (info.max_mireds - info.min_mireds)))
    most = max(warm, 1 - warm)
    own = {"color_brightness": 0.0} if mode & _RGB else {}
    return {"color_mode": mode, "cold_white": (1 - warm) / most, "warm_white": warm / most, **own}


def _as_rgb(data: Mapping[str, Any]) -> Iterable[float] | None:
    for key in ("rgb_color", "rgbw_color", "rgbww_color"):
        if key in data:
            return tuple(data[key][:3])
    if "hs_color" in data:
        hue, saturation = data["hs_color"]
        return tuple(255 * each for each in colorsys.hsv_to_rgb(hue / 360, saturation / 100, 1.0))
    return None


def _rgb(values: Iterable[float]) -> dict[str, Any]:
    """Return a colour as its brightness, and its parts at full brightness."""
    red, green, blue = (each / 255 for each in values)
    most = max(red, green, blue)
    shares = (red / most, green / most, blue / most) if most else (1.0, 1.0, 1.0)
    return {"color_brightness": most, "rgb": shares}
