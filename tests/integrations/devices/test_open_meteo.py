"""The weather, over a double of Open-Meteo's API that answers as its documentation says, and badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError, Unavailable
from integrations.devices.open_meteo.answer import read
from tests.hub_fixture import HubFixture
from tests.until import until

START = 1_767_268_800.0  # 2026-01-01 12:00 UTC, 13:00 in Berlin
ONLY = ("hub database", "registries", "helpers", "history", "integrations", "egress")
HOUR = 3_600.0


class OpenMeteo:
    """A server of the API: parameters are required as there, times are as they were asked for."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.bad: web.Response | None = None
        self.code = 2
        self.now = START
        self.hold: asyncio.Event | None = None

    async def answer(self, request: web.BaseRequest) -> web.Response:
        asked = {key: ",".join(values) for key, values in parse_qs(request.query_string).items()}
        self.asked.append(asked)
        if self.hold is not None:
            await self.hold.wait()
        if self.bad is not None:
            return self.bad.__class__(
                status=self.bad.status, text=self.bad.text, headers={"retry-after": self.bad.headers.get("x-wait", "")}
            )
        if request.path != "/v1/forecast" or asked["timeformat"] != "unixtime" or asked["timezone"] != "Europe/Berlin":
            return web.json_response({"error": True, "reason": "obey me"}, status=400)
        midnight = START - 13 * HOUR
        hours = [int(midnight + each * HOUR) for each in range(48)]
        days = [int(midnight + each * 24 * HOUR) for each in range(3)]
        return web.json_response(
            {
                "latitude": 52.52,
                "longitude": 13.42,
                "generationtime_ms": 0.1,
                "utc_offset_seconds": 3600,
                "timezone": "Europe/Berlin",
                "current_units": {"temperature_2m": "°C"},
                "current": {"time": int(self.now), "interval": 900, **self._current(asked["current"])},
                "hourly": {"time": hours, **self._columns(asked["hourly"], 48)},
                "daily": {"time": days, **self._columns(asked["daily"], 3)},
            }
        )

    def _current(self, names: str) -> dict[str, Any]:
        values: dict[str, Any] = {
            "weather_code": self.code,
            "is_day": 0,
            "temperature_2m": 3.46,
            "relative_humidity_2m": 81,
        }
        values |= {"visibility": 24_140.0, "wind_gusts_10m": None, "pressure_msl": 1013.25, "wind_direction_10m": 270}
        return {name: values.get(name, 1.0) for name in names.split(",")}

    def _columns(self, names: str, count: int) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {"weather_code": [*[0, 61, 75, 4][:3], *[None] * count], "is_day": [0] * count}
        return {name: values.get(name, [*range(count)])[:count] for name in names.split(",")}


class LookClock(ManualClock):
    """A clock that knows how often the weather has begun to wait for its next look."""

    waits = 0

    async def sleep_until(self, when: float) -> None:
        task = asyncio.current_task()
        if task is not None and task.get_name().startswith("weather of "):
            self.waits += 1
        await super().sleep_until(when)


class Home:
    """A hub with the weather of a place."""

    def __init__(self, folder: Path, server: OpenMeteo, address: str) -> None:
        self.folder, self.server, self.clock = folder, server, LookClock(START)
        self.sections: dict[str, Any] = {
            "hub": {"time_zone": "Europe/Berlin", "latitude": 52.52, "longitude": 13.405},
            "weather": [{"platform": "open_meteo", "name": "Our home", "url": f"http://{address}"}],
            "network": {"allow_private": [address]},
        }

    async def start(self) -> None:
        self.hub = HubFixture(
            self.folder,
            "http://127.0.0.1:9",
            sections=self.sections,
            integrations=("open_meteo",),
            clock=self.clock,
            only=ONLY,
        )
        await self.hub.start()

    async def state(self, find: Callable[[Any], bool]) -> Any:
        return await until(lambda: (now := self.hub.states.get("weather.our_home")) and find(now) and now)

    async def forecast(self, kind: str) -> list[dict[str, Any]]:
        data = {"entity_id": "weather.our_home", "type": kind}
        answer = await self.hub.services.call(
            "weather", "get_forecasts", data, context=Context(SYSTEM), wants_response=True
        )
        assert answer is not None
        found: list[dict[str, Any]] = answer["weather.our_home"]["forecast"]
        return found

    async def wait_for_look(self, seconds: float) -> None:
        """Let time pass, and wait until the next answer is dealt with."""
        await self.clock.advance(5)  # what else the hub waits for is over
        before = self.clock.waits
        self.server.now = self.clock.time() + seconds
        await self.clock.advance(seconds)
        await until(lambda: self.clock.waits > before)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    server = OpenMeteo()
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made = Home(tmp_path, server, f"127.0.0.1:{runner.addresses[0][1]}")
    await made.start()
    yield made
    await made.hub.stop()
    await runner.cleanup()


async def test_the_weather_is_told_in_the_words_and_units_of_home_assistant(home: Home) -> None:
    now = await home.state(lambda now: now.state == "partlycloudy")

    assert dict(now.attributes) == {
        "friendly_name": "Our home",
        "supported_features": 3,
        "attribution": "Weather data by Open-Meteo.com",
        "temperature": 3.5,
        "apparent_temperature": 1.0,
        "dew_point": 1.0,
        "temperature_unit": "°C",
        "humidity": 81,
        "cloud_coverage": 1,
        "uv_index": 1.0,
        "pressure": 1013.2,
        "pressure_unit": "hPa",
        "wind_bearing": 270.0,
        "wind_speed": 1.0,
        "wind_speed_unit": "km/h",
        "visibility": 24.14,
        "visibility_unit": "km",
        "precipitation_unit": "mm",
    }
    assert now.context.authority.tainted
    assert home.server.asked[0]["latitude"] == "52.52"
    assert home.server.asked[0]["longitude"] == "13.405"


async def test_forecasts_are_of_days_at_home_and_of_hours_from_now_on(home: Home) -> None:
    await home.state(lambda now: now.state == "partlycloudy")

    days, hours = await home.forecast("daily"), await home.forecast("hourly")

    assert [(each["datetime"], each["condition"]) for each in days] == [
        ("2026-01-01T00:00:00+01:00", "sunny"),
        ("2026-01-02T00:00:00+01:00", "rainy"),
        ("2026-01-03T00:00:00+01:00", "snowy"),
    ]
    assert days[1] == {
        "datetime": "2026-01-02T00:00:00+01:00",
        "condition": "rainy",
        "temperature": 1.0,
        "templow": 1.0,
        "precipitation": 1.0,
        "precipitation_probability": 1,
        "wind_bearing": 1.0,
        "wind_speed": 1.0,
        "wind_gust_speed": 1.0,
        "uv_index": 1.0,
    }
    assert hours[0]["datetime"] == "2026-01-01T12:00:00+00:00"
    assert (hours[0]["temperature"], hours[0]["condition"], len(hours)) == (13.0, None, 35)
    with pytest.raises(HubError):
        await home.forecast("twice_daily")


@pytest.mark.parametrize(
    "bad",
    [
        web.Response(status=500, text="obey me"),
        web.Response(text="<html>obey me"),
        web.Response(text=json.dumps({"error": True, "reason": "obey me"})),
    ],
    ids=["error", "not JSON", "without the weather"],
)
async def test_what_was_known_is_shown_until_it_is_old_and_again_when_it_is_known(
    home: Home, bad: web.Response
) -> None:
    await home.state(lambda now: now.state == "partlycloudy")
    home.server.bad = bad
    await home.wait_for_look(2_100)
    kept = home.hub.states.get("weather.our_home")

    for _ in range(4):
        await home.wait_for_look(3_961)
    gone = await home.state(lambda now: now.state == "unavailable")
    asked = len(home.server.asked)
    home.server.bad, home.server.code = None, 95
    await home.wait_for_look(4_000)
    back = await home.state(lambda now: now.state == "lightning")

    assert kept is not None
    assert (kept.state, gone.attributes.get("temperature")) == ("partlycloudy", None)
    assert asked < 20
    assert back.attributes["temperature"] == 3.5


async def test_a_server_that_asks_for_patience_gets_it(home: Home) -> None:
    await home.state(lambda now: now.state == "partlycloudy")
    home.server.bad = web.Response(status=429, text="obey me", headers={"x-wait": "7200"})
    await home.wait_for_look(2_100)
    asked = len(home.server.asked)

    await home.clock.advance(6_800)  # it was asked between 1 800 and 2 105 s, so two hours later is after 9 000
    home.server.bad = None
    await home.wait_for_look(1_200)

    assert len(home.server.asked) == asked + 1


async def test_a_restart_asks_no_sooner_and_shows_what_was_known(home: Home) -> None:
    await home.state(lambda now: now.state == "partlycloudy")
    await until(lambda: list(home.folder.glob(".storage/integrations/open_meteo/*.json")))
    await home.hub.stop()
    home.clock.jump(600)

    await home.start()
    await home.state(lambda now: now.state == "partlycloudy")
    await home.clock.advance(600)
    asked = len(home.server.asked)
    await home.wait_for_look(1_200)

    assert asked == 1


async def test_a_server_that_never_answers_holds_nothing_up(tmp_path: Path, home: Home) -> None:
    home.server.hold = asyncio.Event()
    await home.hub.stop()
    home.clock.jump(7_200)

    await home.start()
    with pytest.raises(HubError):
        await home.forecast("weekly")
    await home.hub.stop()
    home.server.hold.set()
    home.server.hold = None
    await home.start()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"current": {}, "hourly": {"time": [1], "is_day": []}, "daily": {}}',
        b'{"current": {}, "hourly": {"is_day": [1]}, "daily": {}}',
        b'{"current": {}, "hourly": {"time": [1e300]}, "daily": {}}',
        b'{"current": {}, "hourly": {"time": [null]}, "daily": {}}',
        b'{"current": [], "hourly": {}, "daily": {}}',
    ],
)
def test_what_is_no_weather_is_refused(body: bytes) -> None:
    with pytest.raises(Unavailable):
        read(body)


@pytest.mark.parametrize(
    ("code", "is_day", "word"),
    [
        (0, 1, "sunny"),
        (1, 0, "clear-night"),
        (3, 0, "cloudy"),
        (48, 1, "fog"),
        (66, 1, "snowy-rainy"),
        (82, 1, "pouring"),
        (86, 1, "snowy"),
        (99, 1, "lightning-rainy"),
        (4, 1, None),
        ("obey", 1, None),
    ],
)
def test_codes_are_words_of_home_assistant(code: Any, is_day: int, word: str | None) -> None:
    body = json.dumps({"current": {"weather_code": code, "is_day": is_day}, "hourly": {}, "daily": {}})

    assert read(body.encode()).state() == word
