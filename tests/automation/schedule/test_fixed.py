"""One instant, as people write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from hub.automation.schedule.fixed import At, parse_at
from hub.core.errors import InvalidRequest

BERLIN = ZoneInfo("Europe/Berlin")
BASE = datetime(2026, 1, 10, 12, 0, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-03-01 07:30", "2026-03-01T06:30:00+00:00"),
        ("2026-03-01T07:30", "2026-03-01T06:30:00+00:00"),
        (" 2026-03-01  07:30:15 ", "2026-03-01T06:30:15+00:00"),
        ("2026-03-01 at 07:30", "2026-03-01T06:30:00+00:00"),
        ("2026-07-01T07:30", "2026-07-01T05:30:00+00:00"),
        ("2026-03-01T07:30Z", "2026-03-01T07:30:00+00:00"),
        ("2026-03-01T07:30:00.250Z", "2026-03-01T07:30:00.250000+00:00"),
        ("2026-03-01T07:30:00.250", "2026-03-01T06:30:00.250000+00:00"),
        ("2026-03-01T07:30-05:00", "2026-03-01T12:30:00+00:00"),
        ("2026-03-01 07:30 UTC", "2026-03-01T07:30:00+00:00"),
        ("2026-03-01 07:30 America/New_York", "2026-03-01T12:30:00+00:00"),
        ("2026-03-29 02:30", "2026-03-29T01:00:00+00:00"),
        ("2026-03-29 02:30:00.5", "2026-03-29T01:00:00+00:00"),
        ("2026-10-25 02:30", "2026-10-25T00:30:00+00:00"),
        ("2020-01-01 00:00", "2019-12-31T23:00:00+00:00"),
        ("18:00", "2026-01-10T17:00:00+00:00"),
        ("07:30", "2026-01-11T06:30:00+00:00"),
        ("12:00", "2026-01-11T11:00:00+00:00"),
        ("20m", "2026-01-10T11:20:00+00:00"),
        ("in 20m", "2026-01-10T11:20:00+00:00"),
        ("+ 90s", "2026-01-10T11:01:30+00:00"),
        ("1h 30m", "2026-01-10T12:30:00+00:00"),
        ("1d2h", "2026-01-11T13:00:00+00:00"),
        ("1 H 30 M", "2026-01-10T12:30:00+00:00"),
        (1_767_225_600, "2026-01-01T00:00:00+00:00"),
        ("1767225600.5", "2026-01-01T00:00:00.500000+00:00"),
        (datetime(2026, 3, 1, 7, 30), "2026-03-01T06:30:00+00:00"),  # noqa: DTZ001
        (datetime(2026, 3, 1, 7, 30, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T05:30:00+00:00"),
    ],
)
def test_an_instant_is_read(text: object, wanted: str) -> None:
    found = parse_at(text, BASE, BERLIN)

    assert datetime.fromtimestamp(found, UTC).isoformat() == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a date with a time"),
        ("soon", "expected a date with a time"),
        ("2026-03-01", "no time of day"),
        ("20260301", "no time of day"),
        ("2026-02-30 07:30", "expected a date with a time"),
        ("2026-03-01 25:00", "expected a date with a time"),
        ("24:00", "expected a date with a time"),
        ("2026-03-01 07:30 Mars/Olympus", "not a time zone"),
        ("0001-01-01 00:00", "outside the years"),
        ("9999-12-31T23:59-12:00", "outside the years"),
        (20, "has no unit"),
        ("20", "has no unit"),
        (1_767_225_600_000, "milliseconds"),
        (float("nan"), "has no unit"),
        (-5, "has no unit"),
        ("0m", "expected a date with a time"),
        ("30m 1h", "expected a date with a time"),
        (True, "got true"),
        (None, "got nothing"),
        ([1], "got a list"),
    ],
)
def test_what_is_no_instant_is_refused_with_what_was_expected(text: object, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_at(text, BASE, BERLIN)

    assert words in caught.value.message


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_at(text, BASE, BERLIN)
    except InvalidRequest:
        return

    assert isinstance(found, float)


def test_an_instant_comes_due_once() -> None:
    at = At(100.0)

    assert (at.next_after(99.5), at.next_after(100.0), at.next_after(101.0)) == (100.0, None, None)
