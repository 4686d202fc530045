"""Configuration of the weather: a place each, that of the home without one."""

from __future__ import annotations

from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Length, Optional, Range, Schema, duration, number, string, url

SERVER = "https://api.open-meteo.com"


def _place(value: dict[str, Any]) -> dict[str, Any]:
    if ("latitude" in value) is not ("longitude" in value):
        raise Invalid(phrase("expected both latitude and longitude, or neither for the place of the home"))
    return value


CONFIG_SCHEMA = Schema({})
PLATFORMS = {
    "weather": Schema(
        All(
            {
                Optional("name", default="Home", description="Its name, which its id is made of."): All(
                    string, Length(min=1, max=100)
                ),
                Optional("unique_id", description="Tells it from others of the same name."): string,
                Optional("latitude", description="Of the place; that of the home without it."): All(
                    number, Range(min=-90, max=90)
                ),
                Optional("longitude", description="Of the place."): All(number, Range(min=-180, max=180)),
                Optional("every", default=1_800, description="How often it is asked."): All(
                    duration, Range(min=600, max=21_600)
                ),
                Optional("url", default=SERVER, description="Of the server, if it is one of your own."): url,
            },
            _place,
        )
    )
}
