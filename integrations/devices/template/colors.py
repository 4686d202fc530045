"""Colours in each form: red, green and blue, hue and saturation, a point of the CIE diagram, a temperature."""

from __future__ import annotations

from colorsys import hsv_to_rgb, rgb_to_hsv
from math import log
from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]
Pair: TypeAlias = tuple[float, float]


def rgb_of_hs(hs: Pair) -> tuple[int, int, int]:
    """Return red, green and blue, each up to 255, of hue (360) and saturation (100) at full brightness."""
    red, green, blue = (round(each * 255) for each in hsv_to_rgb(hs[0] / 360, hs[1] / 100, 1.0))
    return red, green, blue


def hs_of_rgb(rgb: Rgb) -> Pair:
    """Return hue and saturation."""
    hue, saturation, _ = rgb_to_hsv(*(each / 255 for each in rgb))
    return round(hue * 360, 3), round(saturation * 100, 3)


def xy_of_rgb(rgb: Rgb) -> Pair:
    """Return the point in the CIE 1931 diagram, by the wide gamut that lights use."""
    red, green, blue = (_linear(each / 255) for each in rgb)
    x = 0.664511 * red + 0.154324 * green + 0.162028 * blue
    y = 0.283881 * red + 0.668433 * green + 0.047685 * blue
    z = 0.000088 * red + 0.072310 * green + 0.986039 * blue
    whole = x + y + z
    return (round(x / whole, 3), round(y / whole, 3)) if whole else (0.0, 0.0)


def _linear(part: float) -> float:
    return float(((part + 0.055) / 1.055) ** 2.4) if part > 0.04045 else part / 12.92


def rgb_of_rgbw(rgbw: tuple[float, ...]) -> tuple[int, int, int]:
    """Return the colour that red, green, blue and white make together, as bright as the brightest of them."""
    *rgb, white = rgbw
    mixed = [each + white for each in rgb]
    factor = max(rgbw) / max(mixed) if max(mixed) else 0.0
    red, green, blue = (round(each * factor) for each in mixed)
    return red, green, blue


def hs_of_kelvin(kelvin: float) -> Pair:
    """Return hue and saturation of a black body, by the fit of Tanner Helland."""
    heat = min(40_000.0, max(1_000.0, kelvin)) / 100
    red = 255.0 if heat <= 66 else 329.698727446 * (heat - 60) ** -0.1332047592
    green = 99.4708025861 * log(heat) - 161.1195681661 if heat <= 66 else 288.1221695283 * (heat - 60) ** -0.0755148492
    blue = 255.0 if heat >= 66 else 138.5177312231 * log(heat - 10) - 305.0447927307 if heat > 19 else 0.0
    return hs_of_rgb((min(255.0, red), min(255.0, max(0.0, green)), min(255.0, max(0.0, blue))))
