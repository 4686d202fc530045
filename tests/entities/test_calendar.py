"""What the services of calendars take: Home Assistant's fields, and what cannot be meant is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.errors import InvalidRequest
from hub.core.schema import Schema
from hub.entities.calendar import CREATE, GET_EVENTS, asked_event, asked_span

NOW = datetime(2026, 3, 28, 12, tzinfo=ZoneInfo("Europe/Berlin"))
EVENT = {"summary": "x"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"duration": {"hours": 24}}, ("2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00")),
        (
            {"start_date_time": "2026-04-01", "end_date_time": "2026-04-02T10:00:00Z"},
            ("2026-04-01T00:00:00+02:00", "2026-04-02T12:00:00+02:00"),
        ),
    ],
)
def test_a_time_is_asked_about(data: dict[str, Any], expected: tuple[str, str]) -> None:
    since, until = asked_span(Schema(GET_EVENTS)(data), NOW)

    assert (since.isoformat(), until.isoformat()) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"in": {"days": 1}}, ("2026-03-29", "2026-03-30")),
        ({"in": {"weeks": 2}}, ("2026-04-11", "2026-04-12")),
        ({"start_date": "2026-04-01", "end_date": "2026-04-03"}, ("2026-04-01", "2026-04-03")),
        (
            {"start_date_time": "2026-04-01 10:00:00", "end_date_time": "2026-04-01T11:00:00+02:00"},
            ("2026-04-01T10:00:00+02:00", "2026-04-01T11:00:00+02:00"),
        ),
    ],
)
def test_an_event_is_described(data: dict[str, Any], expected: tuple[str, str]) -> None:
    assert asked_event(Schema(CREATE)({**EVENT, **data}), NOW) == expected


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"duration": 60, "end_date_time": "2027-01-01"},
        {"end_date_time": "2020-01-01"},
        {"start_date_time": "2026-04-01", "end_date_time": "2026-04-01"},
        {"duration": 0},
    ],
)
def test_a_time_without_an_end_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        asked_span(Schema(GET_EVENTS)(data), NOW)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"start_date": "2026-05-13"},
        {"end_date": "2026-05-13"},
        {"start_date": "2026-05-13", "end_date": "2026-05-13"},
        {"start_date": "2026-05-13", "end_date_time": "2026-05-14"},
        {"start_date_time": "2026-05-13", "end_date_time": "2026-05-14", "end_date": "2026-05-14"},
        {"in": {"days": 1, "weeks": 1}},
        {"in": {}},
        {"start_date": "2026-05-13", "end_date": "2026-05-14", "in": {"days": 1}},
    ],
)
def test_an_event_without_one_time_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        asked_event(Schema(CREATE)({**EVENT, **data}), NOW)
