"""Weather: what it is like, and what is forecast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import Optional, string
from integrations.devices.template.contract import Settings, Shown, Step, TemplateKind, Values
from integrations.devices.template.reading import NOTHING, choice, field, number, wrong

_CONDITIONS = (
    *("clear-night", "cloudy", "fog", "hail", "lightning", "lightning-rainy", "partlycloudy", "pouring", "rainy"),
    *("snowy", "snowy-rainy", "sunny", "windy", "windy-variant", "exceptional"),
)
_UNITS = {"temperature": "°C", "pressure": "hPa", "wind_speed": "km/h", "visibility": "km", "precipitation": "mm"}
_READINGS = (
    *("temperature", "apparent_temperature", "dew_point", "humidity", "ozone", "cloud_coverage", "pressure"),
    *("wind_bearing", "wind_gust_speed", "wind_speed", "visibility"),
)
_FORECASTS = {"forecast_daily": 1, "forecast_hourly": 2, "forecast_twice_daily": 4}


def _reading(result: Any) -> float | None:
    return None if result in NOTHING else number(result)


def _bearing(result: Any) -> float | str | None:
    return result if isinstance(result, str) and result not in NOTHING else _reading(result)


def _forecast(key: str) -> Callable[[Any], Any]:
    needed = {"datetime", "is_daytime"} if key == "forecast_twice_daily" else {"datetime"}

    def read(result: Any) -> Any:
        if result in NOTHING:
            return None
        if not isinstance(result, list) or not all(isinstance(each, dict) and needed <= each.keys() for each in result):
            raise wrong(phrase("a list of forecasts, each with {keys}", keys=sorted(needed)), result)
        return result

    return read


def _show(settings: Settings, values: Values) -> Shown:
    found = {key: values[key] for key in _READINGS if values.get(key) is not None}
    if "humidity" in found:
        found["humidity"] = round(found["humidity"])
    units = {f"{key}_unit": settings.get(f"{key}_unit", unit) for key, unit in _UNITS.items()}
    told = {"attribution": values["attribution"]} if values.get("attribution") else {}
    features = sum(feature for key, feature in _FORECASTS.items() if key in settings)
    return Shown(values.get("condition"), {"supported_features": features, **told}, {**found, **units})


def _forecasts(settings: Settings, values: Values, data: Mapping[str, Any]) -> Step:
    key = f"forecast_{data['type']}"
    if key not in settings:
        raise InvalidRequest(phrase("this weather has no forecast of the type {type}", type=data["type"]))
    return Step(answer={"forecast": values.get(key) or []})


_TEXT = ("condition", "attribution", *_READINGS, *_FORECASTS)
WEATHER = TemplateKind(
    domain="weather",
    description="Weather.",
    templates={
        "condition": field("condition", choice(*_CONDITIONS), required=True),
        **{key: field(key, _reading, required=key in ("temperature", "humidity")) for key in _READINGS},
        "wind_bearing": field("wind_bearing", _bearing),
        **{key: field(key, _forecast(key)) for key in _FORECASTS},
        "attribution": field("attribution", lambda result: None if result in NOTHING else str(result)),
    },
    show=_show,
    fields={Optional(f"{key}_unit", description=f"The unit of {key}."): string for key in _UNITS},
    services=lambda settings: {"get_forecasts": _forecasts} if _FORECASTS.keys() & settings.keys() else {},
    legacy="weather",
    renamed={f"{key}_template": key for key in _TEXT},
)
