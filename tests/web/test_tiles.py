"""What a device looks like as a tile, and what touching it does."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from web.core.i18n import catalogue
from web.entities.tiles import Tile, choices_of, command, entry_of, tile_of
from web.entities.weather import ForecastDay, for_tile, forecast_days, forecast_hours

GETTEXT = catalogue("en").gettext
DAY = {"has_date": True}
LIGHT = ["toggle", "turn_off", "turn_on"]


def entity(id: str, state: str | None, commands: list[str] | None = None, **more: Any) -> dict[str, Any]:
    known = {"shown_name": "It", "device_class": None, "icon": None, "unit": None, "commands": commands or []}
    return {"entity_id": id, "domain": id.partition(".")[0], "state": state, **known, **more}


def test_a_dimmable_light_that_is_on_has_a_slider_in_percent() -> None:
    tile = tile_of(entity("light.sofa", "on", LIGHT), {"brightness": 128}, GETTEXT)

    assert tile == Tile("slider", "lightbulb", "On · 50 %", on=True, value=50)


def test_a_light_that_only_switches_has_none() -> None:
    tile = tile_of(entity("light.attic", "off", LIGHT), {"supported_color_modes": ["onoff"]}, GETTEXT)

    assert (tile.kind, tile.state, tile.on) == ("toggle", "Off", False)


def test_a_heater_says_what_is_wanted_and_what_is() -> None:
    heating = entity("climate.hall", "heat", ["set_temperature", "turn_off", "turn_on"])

    tile = tile_of(heating, {"temperature": 21.0, "current_temperature": 20.4, "hvac_action": "idle"}, GETTEXT)

    assert (tile.kind, tile.value, tile.step, tile.state) == ("thermostat", 21, 0.5, "Idle · now 20.4°")


def test_a_player_has_its_picture_its_buttons_and_its_volume() -> None:
    attributes = {"volume_level": 0.4, "media_title": "Aria", "entity_picture": "/api/media_player_proxy/m.p"}
    player = entity("media_player.p", "playing", ["media_pause", "media_play", "turn_off", "volume_set"])

    tile = tile_of(player, attributes, GETTEXT)
    later = tile_of(player, {**attributes, "media_title": "Gigue"}, GETTEXT)

    assert (tile.kind, tile.state, tile.on, tile.value) == ("player", "Playing · Aria", True, 40)
    assert tile.picture.startswith("/api/media_player_proxy/m.p?of=")
    assert later.picture != tile.picture
    assert command(player, "media_play_pause", "") == ("media_play_pause", {})


@pytest.mark.parametrize(
    ("picture", "shown"),
    [("/api/camera_proxy/camera.c", "/api/camera_proxy/camera.c"), ("https://elsewhere/x.jpg", "")],
)
def test_a_camera_shows_what_it_sees_from_the_hub_alone(picture: str, shown: str) -> None:
    tile = tile_of(entity("camera.c", "idle", ["snapshot"]), {"entity_picture": picture}, GETTEXT)

    assert (tile.kind, tile.picture, tile.is_camera) == ("value", shown, True)


@pytest.mark.parametrize(
    ("id", "state", "device_class", "unit", "said"),
    [
        ("sensor.kitchen", "22.8", "temperature", "°C", "22.8 °C"),
        ("binary_sensor.door", "on", "door", None, "Open"),
        ("binary_sensor.door", "off", "moisture", None, "Dry"),
        ("lock.front", "locked", None, None, "Locked"),
        ("sensor.mode", "very_odd", None, None, "very_odd"),
        ("switch.plug", None, None, None, "Not reachable"),
    ],
)
def test_a_state_is_in_words(id: str, state: str | None, device_class: str | None, unit: str | None, said: str) -> None:
    tile = tile_of(entity(id, state, device_class=device_class, unit=unit), {}, GETTEXT)

    assert (tile.kind, tile.state, tile.gone) == ("value", said, state is None)


@pytest.mark.parametrize(
    ("id", "state", "do", "value", "called"),
    [
        ("light.sofa", "on", "toggle", "", ("toggle", {})),
        ("light.sofa", "on", "set", "40", ("turn_on", {"brightness_pct": 40})),
        ("climate.hall", "heat", "set", "21.5", ("set_temperature", {"temperature": 21.5})),
        ("media_player.radio", "playing", "set", "30", ("volume_set", {"volume_level": 0.3})),
        ("cover.blind", "open", "stop", "", ("stop_cover", {})),
        ("cover.blind", "open", "set", "55", ("set_cover_position", {"position": 55})),
        ("vacuum.robot", "docked", "run", "", ("start", {})),
        ("media_player.radio", "idle", "select_source", "Radio", ("select_source", {"source": "Radio"})),
    ],
)
def test_touching_it_calls_the_service_of_its_domain(
    id: str, state: str, do: str, value: str, called: tuple[str, dict[str, Any]]
) -> None:
    assert command(entity(id, state, ["toggle", "select_source"]), do, value) == called


@pytest.mark.parametrize(("do", "value", "told"), [("set", "warm", "expected a number"), ("fly", "", "cannot fly")])
def test_what_it_cannot_do_is_refused(do: str, value: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        command(entity("light.sofa", "on", LIGHT), do, value)


def test_what_can_be_picked_is_in_words_with_what_is_now() -> None:
    heating = entity("climate.hall", "heat", ["set_hvac_mode"])

    [found] = choices_of(heating, {"hvac_modes": ["off", "heat"]}, GETTEXT)

    assert (found.service, found.options, found.value) == (
        "set_hvac_mode",
        [("off", "Off"), ("heat", "Heating")],
        "heat",
    )


@pytest.mark.parametrize(
    ("id", "state", "attributes", "widget", "shown", "typed", "data"),
    [
        ("input_text.note", "unknown", {"mode": "text"}, "text", "", "milk", {"value": "milk"}),
        ("input_text.pin", "4821", {"mode": "password"}, "secret", "", "1234", {"value": "1234"}),
        ("input_datetime.a", "07:30:00", {"has_time": True}, "time", "07:30", "06:15", {"time": "06:15"}),
        (
            "input_datetime.a",
            "2026-03-02",
            {"has_date": True},
            "date",
            "2026-03-02",
            "2026-04-01",
            {"date": "2026-04-01"},
        ),
        (
            "input_datetime.a",
            "2026-03-02 07:30:00",
            {"has_date": True, "has_time": True},
            "datetime",
            "2026-03-02T07:30",
            "2026-04-01T06:15",
            {"datetime": "2026-04-01T06:15"},
        ),
    ],
)
def test_texts_dates_and_times_are_typed(
    id: str, state: str, attributes: dict[str, Any], widget: str, shown: str, typed: str, data: dict[str, Any]
) -> None:
    it = entity(id, state, ["set_value" if "text" in id else "set_datetime"])

    entry = entry_of(it, attributes)

    assert entry is not None
    assert (entry.widget, entry.value) == (widget, shown)
    assert command(it, entry.service, typed) == (entry.service, data)


def test_a_number_is_set_with_a_slider_on_its_page() -> None:
    number = entity("input_number.target", "21.0", ["set_value", "increment", "decrement"])

    tile = tile_of(number, {"min": 5.0, "max": 30.0, "step": 0.5}, GETTEXT)

    assert (tile.kind, tile.value, tile.min, tile.max, tile.step) == ("value", 21, 5, 30, 0.5)


def test_the_weather_shows_its_condition_and_how_warm_it_is() -> None:
    raining = tile_of(entity("weather.home", "pouring"), {"temperature": 7.0, "temperature_unit": "°C"}, GETTEXT)
    other = tile_of(entity("weather.home", "frogs"), {}, GETTEXT)

    assert (raining.icon, raining.state) == ("cloud-rain", "Heavy rain · 7\u00a0°C")
    assert (other.icon, other.state) == ("cloud-sun", "frogs")


def test_the_tile_of_a_weather_has_the_next_days_or_hours() -> None:
    tile = tile_of(entity("weather.home", "sunny", ["get_forecasts"]), {"temperature": 7}, GETTEXT)
    wednesday = date(2026, 5, 13)
    days = [{"datetime": f"2026-05-{day}", "condition": "sunny", "temperature": day} for day in range(12, 20)]
    hours = [{"datetime": f"2026-05-13T{hour:02}:00:00+00:00", "temperature": hour} for hour in range(3, 20)]
    now = datetime(2026, 5, 13, 6, 30, tzinfo=timezone(timedelta(hours=2)))

    shown = for_tile(forecast_days(days, {}, wednesday, GETTEXT), wednesday, GETTEXT)

    assert tile.kind == "weather"
    assert [(each.day, each.high) for each in shown] == [("Wed", "13°"), ("Thu", "14°"), ("Fri", "15°"), ("Sat", "16°")]
    assert [(each.day, each.high) for each in forecast_hours(hours, now, GETTEXT)] == [
        ("07:00", "5°"),
        ("10:00", "8°"),
        ("13:00", "11°"),
    ]


def test_a_forecast_begins_today_and_leaves_out_what_is_not_known() -> None:
    rows: list[dict[str, object]] = [
        {"datetime": "2026-05-11T00:00:00+02:00", "condition": "sunny", "temperature": 30},
        {"datetime": "2026-05-12T00:00:00+02:00", "condition": "sunny", "temperature": 20.6, "templow": -0.7},
        {"datetime": "2026-05-13", "condition": "rainy", "precipitation": 4.5, "precipitation_probability": 80},
        {"datetime": "2026-05-15", "condition": "frogs", "temperature": None},
        {"datetime": "soon", "condition": "sunny"},
    ]

    assert forecast_days(rows, {"precipitation_unit": "mm"}, date(2026, 5, 12), GETTEXT) == [
        ForecastDay("Today", "sun", "Sunny", "-1°", "21°"),
        ForecastDay("Tomorrow", "cloud-drizzle", "Rain", rain="4.5 mm · 80 %"),
        ForecastDay("Friday", "cloud-sun", "Not known yet"),
    ]
