"""The weather in words and pictures: its condition, and the days to come as a page shows them. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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
TILE_DAYS, TILE_HOURS, HOURS_APART = 4, 3, 3
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


def forecast_hours(rows: Sequence[Mapping[str, Any]], now: datetime, gettext: Callable[..., str]) -> list[ForecastDay]:
    """Return some hours of an hourly forecast, some hours apart, each named by its time.

    Args:
        now: On the clocks of the home.
    """
    found = []
    last = now
    for row in rows:
        try:
            at = datetime.fromisoformat(str(row.get("datetime")))
        except ValueError:
            continue
        at = at.replace(tzinfo=now.tzinfo) if at.tzinfo is None else at.astimezone(now.tzinfo)
        if at < last:
            continue
        last = at + timedelta(hours=HOURS_APART)
        icon, words = CONDITIONS.get(str(row.get("condition")), ("cloud-sun", "Not known yet"))
        found.append(ForecastDay(f"{at:%H:%M}", icon, gettext(words), high=_degrees(row.get("temperature"))))
    return found[:TILE_HOURS]


def for_tile(days: Sequence[ForecastDay], today: date, gettext: Callable[..., str]) -> list[ForecastDay]:
    """Return the first days of a forecast, by short names: Wed, 三."""
    coming = [today + timedelta(days=each) for each in range(7)]
    names = {_day_name(each, today, gettext): gettext(WEEKDAYS[each.weekday()]) for each in coming}
    short = {name: full[:3] if full.isascii() else full[-1] for name, full in names.items()}
    return [replace(each, day=short.get(each.day, each.day)) for each in days[:TILE_DAYS]]


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
