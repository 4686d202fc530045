"""What Open-Meteo answers, as the weather and its forecasts under Home Assistant's names. Pure functions.

Source: https://open-meteo.com/en/docs; conditions are those of WMO code table 4677, as that page explains them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from hub.core.errors import Unavailable

Number = float | int | None

DAYS, HOURS = 7, 48
_NOW = {
    "temperature_2m": "temperature",
    "apparent_temperature": "apparent_temperature",
    "dew_point_2m": "dew_point",
    "relative_humidity_2m": "humidity",
    "cloud_cover": "cloud_coverage",
    "uv_index": "uv_index",
    "pressure_msl": "pressure",
    "wind_direction_10m": "wind_bearing",
    "wind_gusts_10m": "wind_gust_speed",
    "wind_speed_10m": "wind_speed",
    "visibility": "visibility",
}
_HOURLY = {
    "temperature_2m": "temperature",
    "apparent_temperature": "apparent_temperature",
    "relative_humidity_2m": "humidity",
    "precipitation": "precipitation",
    "precipitation_probability": "precipitation_probability",
    "cloud_cover": "cloud_coverage",
    "wind_direction_10m": "wind_bearing",
    "wind_speed_10m": "wind_speed",
    "wind_gusts_10m": "wind_gust_speed",
    "uv_index": "uv_index",
}
_DAILY = {
    "temperature_2m_max": "temperature",
    "temperature_2m_min": "templow",
    "precipitation_sum": "precipitation",
    "precipitation_probability_max": "precipitation_probability",
    "wind_direction_10m_dominant": "wind_bearing",
    "wind_speed_10m_max": "wind_speed",
    "wind_gusts_10m_max": "wind_gust_speed",
    "uv_index_max": "uv_index",
}
_WHOLE = frozenset({"humidity", "cloud_coverage", "precipitation_probability"})
UNITS = {
    "temperature_unit": "°C",
    "pressure_unit": "hPa",
    "wind_speed_unit": "km/h",
    "visibility_unit": "km",
    "precipitation_unit": "mm",
}
_CONDITIONS: Mapping[int, str] = {
    **dict.fromkeys((0, 1), "sunny"),
    2: "partlycloudy",
    3: "cloudy",
    **dict.fromkeys((45, 48), "fog"),
    **dict.fromkeys((51, 53, 55, 61, 63, 80, 81), "rainy"),
    **dict.fromkeys((56, 57, 66, 67), "snowy-rainy"),
    **dict.fromkeys((65, 82), "pouring"),
    **dict.fromkeys((71, 73, 75, 77, 85, 86), "snowy"),
    95: "lightning",
    **dict.fromkeys((96, 99), "lightning-rainy"),
}


class Answer(Struct, frozen=True):
    """An answer, of which the keys that were asked for are read."""

    current: dict[str, float | int | str | None]
    hourly: dict[str, list[float | int | None]]
    daily: dict[str, list[float | int | None]]
    utc_offset_seconds: int = 0

    def state(self) -> str | None:
        """Return the condition now; None for one that has no word."""
        return _condition(self.current.get("weather_code"), self.current.get("is_day"))

    def attributes(self) -> dict[str, Any]:
        """Return the weather now."""
        return {**_named(self.current, _NOW), **UNITS}

    def hours(self, now: float) -> list[dict[str, Any]]:
        """Return the forecast by hours, from the present one on."""
        found = []
        for at, row in _rows(self.hourly):
            if at + 3_600 <= now:
                continue
            said = {"datetime": datetime.fromtimestamp(at, UTC).isoformat()}
            condition = _condition(row.get("weather_code"), row.get("is_day"))
            found.append({**said, "condition": condition, **_named(row, _HOURLY)})
        return found[:HOURS]

    def days(self, now: float) -> list[dict[str, Any]]:
        """Return the forecast by days, from today on."""
        there = timezone(timedelta(seconds=self.utc_offset_seconds))
        today = datetime.fromtimestamp(now, there).date()
        found = []
        for at, row in _rows(self.daily):
            day = datetime.fromtimestamp(at, there)
            if day.date() < today:
                continue
            condition = _condition(row.get("weather_code"), 1)
            found.append({"datetime": day.isoformat(), "condition": condition, **_named(row, _DAILY)})
        return found


def query(latitude: float, longitude: float, zone: str) -> str:
    """Return the query for a place, whose days are those of a time zone."""
    asked = {
        "latitude": round(latitude, 4),
        "longitude": round(longitude, 4),
        "current": ",".join(("weather_code", "is_day", *_NOW)),
        "hourly": ",".join(("weather_code", "is_day", *_HOURLY)),
        "daily": ",".join(("weather_code", *_DAILY)),
        "timeformat": "unixtime",
        "timezone": zone,
        "forecast_days": DAYS,
    }
    return urlencode(asked, safe=",/")


def read(body: bytes) -> Answer:
    """Return an answer.

    Raises:
        Unavailable: It is not one.
    """
    try:
        answer = msgspec.json.decode(body, type=Answer)
        for table in (answer.hourly, answer.daily):
            list(_rows(table))
    except (msgspec.MsgspecError, KeyError, ValueError, TypeError, OverflowError, OSError) as error:
        raise Unavailable(f"Open-Meteo answered with something else than the weather: {str(error)[:100]}") from None
    return answer


def _rows(table: Mapping[str, Sequence[Number]]) -> list[tuple[float, dict[str, Number]]]:
    """Return the rows of a table of columns, each with its time."""
    names = list(table)
    found = []
    for values in zip(*table.values(), strict=True):
        row = dict(zip(names, values, strict=True))
        found.append((datetime.fromtimestamp(float(row["time"] or "x"), UTC).timestamp(), row))
    return found


def _condition(code: Any, is_day: Any) -> str | None:
    found = _CONDITIONS.get(code) if isinstance(code, int) else None
    return "clear-night" if found == "sunny" and is_day == 0 else found


def _named(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a row under their names here, without those that are not known."""
    found: dict[str, Any] = {}
    for theirs, name in names.items():
        value = row.get(theirs)
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        value = value / 1_000 if name == "visibility" else value
        found[name] = round(value) if name in _WHOLE else round(float(value), 2 if name == "visibility" else 1)
    return found
