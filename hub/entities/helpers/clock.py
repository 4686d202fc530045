"""`time_date`: the time and the day on the clocks of the home, as sensors.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from hub.core.schema import All, In, Length, Optional, as_list
from hub.entities.helpers.contract import Held, HelperHome, HelperKind, Settings

_SHOWN = {
    "time": ("Time", "%H:%M"),
    "date": ("Date", "%Y-%m-%d"),
    "date_time": ("Date & Time", "%Y-%m-%d, %H:%M"),
    "date_time_utc": ("Date & Time (UTC)", "%Y-%m-%d, %H:%M"),
    "date_time_iso": ("Date & Time (ISO)", "%Y-%m-%dT%H:%M:00"),
    "time_date": ("Time & Date", "%H:%M, %Y-%m-%d"),
    "time_utc": ("Time (UTC)", "%H:%M"),
}
"""By the option: the name of its sensor, and what it says."""
_MINUTE_S = 60


def _now(settings: Settings, kept: Held | None, home: HelperHome) -> Held:
    option = settings["option"]
    moment = datetime.fromtimestamp(home.now, UTC) if option.endswith("_utc") else home.local
    return Held(moment.strftime(_SHOWN[option][1]), due=(home.now // _MINUTE_S + 1) * _MINUTE_S)


def _sensors(key: str, settings: Settings) -> Mapping[str, Settings]:
    return {each: {**settings, "option": each, "name": _SHOWN[each][0]} for each in settings["display_options"]}


def _icon(settings: Settings) -> dict[str, str]:
    has_time, has_date = ("time" in settings["option"], "date" in settings["option"])
    return {"icon": "mdi:calendar-clock" if has_time and has_date else "mdi:calendar" if has_date else "mdi:clock"}


KINDS = (
    HelperKind(
        "sensor",
        "The time and the day on the clocks of the home",
        {
            Optional("display_options", default=lambda: ["time"], description="What there are sensors of"): All(
                as_list, [In(tuple(_SHOWN))], Length(min=1)
            ),
        },
        _now,
        {},
        shown=lambda settings: {} if "icon" in settings else _icon(settings),
        wake=_now,
        each_of=_sensors,
        is_kept=False,
        has_editable=False,
        platform="time_date",
    ),
)
