"""The weather in words and pictures: its condition, and the days to come as a page shows them. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from msgspec import Struct

CONDITIONS: Mapping[str, tuple[str, str]] = {
    "clear-night": ("moon", "Clear"),
    "cloudy": ("cloud", "Cloudy"),
    "exceptional": ("triangle-alert", "Exceptional"),
    "fog": ("cloud-fog", "Fog"),
    "hail": ("cloud-hail", "Hail"),
    "lightning": ("cloud-lightning", "Thunder"),
    "lightning-rainy": ("cloud-lightning", "Thunderstorms"),
    "partlycloudy": ("cloud-sun", "Partly cloudy"),
    "pouring": ("cloud-rain", "Heavy rain"),
    "rainy": ("cloud-drizzle", "Rain"),
    "snowy": ("cloud-snow", "Snow"),
    "snowy-rainy": ("cloud-snow", "Sleet"),
    "sunny": ("sun", "Sunny"),
    "windy": ("wind", "Windy"),
    "windy-variant": ("wind", "Windy and cloudy"),
}
"""By Home Assistant's word for it: the icon, and what it is in words."""
DAYS_LIMIT = 10
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class ForecastDay(Struct, frozen=True):
    """A day of the forecast, as the page shows it.

    Attributes:
        low, high: Degrees; empty if they are not known.
        rain: How much falls, with its unit, or how likely it is; empty for none.
    """

    day: str
    icon: str
    condition: str
    low: str = ""
    high: str = ""
    rain: str = ""


def forecast_days(
    rows: Sequence[Mapping[str, Any]], attributes: Mapping[str, Any], today: date, gettext: Callable[..., str]
) -> list[ForecastDay]:
    """Return the days of a daily forecast, from today on.

    Args:
        rows: As `weather.get_forecasts` returns them.
        attributes: The attributes of the entity's state, with the units.
        today: On the clocks of the home.
        gettext: Translates.
    """
    found = []
    for row in rows:
        try:
            day = date.fromisoformat(str(row.get("datetime"))[:10])
        except ValueError:
            continue
        icon, words = CONDITIONS.get(str(row.get("condition")), ("cloud-sun", "Not known yet"))
        if day >= today:
            low, high = (_degrees(row.get(key)) for key in ("templow", "temperature"))
            name = _day_name(day, today, gettext)
            found.append(ForecastDay(name, icon, gettext(words), low, high, _rain(row, attributes, gettext)))
    return found[:DAYS_LIMIT]


def _day_name(day: date, today: date, gettext: Callable[..., str]) -> str:
    named = {today: "Today", today + timedelta(days=1): "Tomorrow"}
    return gettext(named.get(day, WEEKDAYS[day.weekday()]))


def _degrees(value: Any) -> str:
    return f"{round(value)}°" if isinstance(value, int | float) else ""


def _rain(row: Mapping[str, Any], attributes: Mapping[str, Any], gettext: Callable[..., str]) -> str:
    amount, chance = row.get("precipitation"), row.get("precipitation_probability")
    parts = [f"{amount:g} {attributes.get('precipitation_unit', 'mm')}"] if amount else []
    parts += [gettext("{percent} %", percent=f"{chance:g}")] if chance else []
    return " · ".join(parts)
