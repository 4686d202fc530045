"""Cron expressions mean what croniter says, follow the rules of summer time, and name the field that is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from hypothesis import given, settings, strategies as st

from hub.automation.schedule.contract import due_between
from hub.automation.schedule.cron import MAX_LENGTH, Cron, check_cron
from hub.core.errors import InvalidRequest
from tests.lengths import examples
from web.core.i18n import catalogue

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = datetime(2026, 3, 29, tzinfo=BERLIN).timestamp()
AUTUMN = datetime(2026, 10, 25, tzinfo=BERLIN).timestamp()
DAY = 24 * 3600.0


def utc(*fields: int) -> float:
    return datetime(*fields, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("30 2 * * *", [utc(2026, 3, 29, 1, 0)]),
        ("0,15,30,45 2 * * *", [utc(2026, 3, 29, 1, 0)]),
        ("30 2,3 * * *", [utc(2026, 3, 29, 1, 0), utc(2026, 3, 29, 1, 30)]),
        ("0 2,3 * * *", [utc(2026, 3, 29, 1, 0)]),
        ("*/30 2 * * *", []),
        ("0 */2 * * *", [utc(2026, 3, 29, 2 * hour) for hour in range(1, 11)]),
        ("30 1-3 * * *", [utc(2026, 3, 29, 0, 30), utc(2026, 3, 29, 1, 0), utc(2026, 3, 29, 1, 30)]),
    ],
)
def test_a_missing_hour(expression: str, due: list[float]) -> None:
    found = due_between(Cron(expression, BERLIN), SPRING, SPRING + 22 * 3600)

    assert found == due


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("30 2 * * *", [utc(2026, 10, 25, 0, 30)]),
        ("0,30 2 * * *", [utc(2026, 10, 25, 0, 0), utc(2026, 10, 25, 0, 30)]),
        ("30 1-3 * * *", [utc(2026, 10, 24, 23, 30), utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 2, 30)]),
        ("*/30 2 * * *", [utc(2026, 10, 25, hour, minute) for hour in (0, 1) for minute in (0, 30)]),
        ("0 */2 * * *", [utc(2026, 10, 25, hour) for hour in (0, 1, 3)]),
    ],
)
def test_a_doubled_hour(expression: str, due: list[float]) -> None:
    found = due_between(Cron(expression, BERLIN), AUTUMN + 1, AUTUMN + 6 * 3600)

    assert found == due


def test_a_whole_day_that_a_zone_left_out_fires_once_behind_it() -> None:
    apia = ZoneInfo("Pacific/Apia")
    after = datetime(2011, 12, 29, 12, tzinfo=apia).timestamp()

    found = due_between(Cron("0 8 * * *", apia), after, after + DAY)

    assert [datetime.fromtimestamp(at, apia).strftime("%d %H:%M") for at in found] == ["31 00:00", "31 08:00"]


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("61 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of month"),
        ("* * * 13 *", "month"),
        ("* * * * 8", "weekday"),
        ("* * * * mon#6", "weekday"),
        ("* * * foo *", "month"),
        ("-5 * * * *", "minute"),
        ("*/0 * * * *", "minute"),
        ("1,,2 * * * *", "minute"),
        ("* 8- * * *", "hour"),
        ("h * * * *", "minute"),
        ("* r * * *", "hour"),
        ("* * 15w * *", "day of month"),
        ("* * 1 * fri#2", "weekday"),
        ("* * * * 1,fri#2", "weekday"),
        ("٣ * * * *", "minute"),
        ("0 0 30 2 *", "day of month"),
        ("0 0 31 4,6,9,11 *", "day of month"),
        ("0 0 * * * *", "second"),
        ("0 0 * *", "weekday"),
        ("", "minute"),
    ],
)
def test_a_bad_expression_names_its_field(expression: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_cron(expression)

    assert caught.value.details == {"field": field}
    assert field in caught.value.message


@pytest.mark.parametrize(
    ("expression", "words"),
    [("@reboot", "the trigger `hub`"), ("@often", "@hourly"), ("1 " * MAX_LENGTH, "at most 200"), ("a", "1 field")],
)
def test_what_is_no_expression_at_all_is_told(expression: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_cron(expression)

    assert words in caught.value.message


def test_a_bad_expression_is_explained_in_the_readers_language() -> None:
    with pytest.raises(InvalidRequest) as wrong:
        check_cron("61 * * * *")
    with pytest.raises(InvalidRequest) as short:
        check_cron("0 0 * *")
    chinese = catalogue("zh-CN")

    assert chinese.gettext(wrong.value.message).startswith('cron："61 * * * *" 中的分钟字段 "61" 有误；应为 0 到 59')
    assert chinese.gettext(short.value.message).endswith("缺少字段“星期”")


def test_a_leap_day_on_a_weekday_comes_after_many_years() -> None:
    due = Cron("0 0 29 2 *", BERLIN).next_after(utc(2096, 3, 1))

    assert due is not None
    assert datetime.fromtimestamp(due, BERLIN).year == 2104


def test_stagger_is_constant_for_a_seed_and_stays_in_its_width() -> None:
    schedules = [Cron("0 * * * *", BERLIN, stagger_s=300, seed=f"job {number}") for number in range(200)]

    offsets = [{at % 3600 for at in due_between(schedule, SPRING, SPRING + DAY)} for schedule in schedules]

    assert all(len(offset) == 1 for offset in offsets)
    assert all(0 <= at < 300 for offset in offsets for at in offset)
    assert len(set.union(*offsets)) > 50
    assert Cron("0 * * * *", BERLIN, stagger_s=300, seed="job 1").offset_s == 194


def test_a_negative_stagger_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="stagger"):
        Cron("0 * * * *", BERLIN, stagger_s=-1)


def part(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    bounds = st.tuples(number, number).map(sorted)
    return st.one_of(
        number.map(str),
        bounds.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(bounds, st.integers(1, high)).map(lambda args: f"{args[0][0]}-{args[0][1]}/{args[1]}"),
        st.integers(1, high).map(lambda step: f"*/{step}"),
    )


def a_field(low: int, high: int, *more: str) -> st.SearchStrategy[str]:
    return st.one_of(
        st.just("*"), st.lists(part(low, high), min_size=1, max_size=3).map(",".join), *(st.just(each) for each in more)
    )


EXPRESSIONS = st.one_of(
    st.tuples(a_field(0, 59), a_field(0, 23), a_field(1, 31, "L", "L,15"), a_field(1, 12), a_field(0, 7)),
    st.tuples(a_field(0, 59), a_field(0, 23), st.just("*"), a_field(1, 12), st.sampled_from(["fri#2", "L0", "1#5"])),
).map(" ".join)


@settings(max_examples=examples(150), deadline=None)
@given(EXPRESSIONS, st.integers(0, 4_000_000_000))
def test_without_summer_time_it_comes_due_when_croniter_says(expression: str, after: int) -> None:
    theirs = croniter(expression, datetime.fromtimestamp(after, UTC), ret_type=float)
    try:
        wanted = [theirs.get_next() for _ in range(3)]
    except ValueError:
        wanted = []
    found = due_between(Cron(expression, UTC), float(after), 10_000_000_000.0, limit=3)

    assert found == wanted
