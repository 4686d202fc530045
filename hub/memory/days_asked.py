"""Relative days in queries, as marks (`hub.memory.dates`): "yesterday", "two weeks ago", 下周二."""

from __future__ import annotations

import re
from datetime import date, timedelta

from hub.core.lazy_pattern import LazyPattern
from hub.memory.dates import MONTH, extract_dates, month_number, number_of
from hub.memory.traditional import simplified

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CHINESE_NUMBER = "[一二两三四五六七八九十]"
_AGO = LazyPattern(
    rf"(?<![\w-])(\d{{1,3}}|an?|{'|'.join(_NUMBER_WORDS)}) (day|week|month|year)s? ago\b"
    rf"|(?<!\d)(?<!{_CHINESE_NUMBER})(\d{{1,3}}|{_CHINESE_NUMBER}{{1,3}})\s*(天|日|周|个?星期|个?礼拜|个月|年)(?:以|之)?前",
    re.IGNORECASE,
)
_ASKED = LazyPattern(
    r"\b(?P<named>today|tonight|this (?:morning|afternoon|evening)|the day before yesterday|yesterday|last night"
    r"|(?:the )?day after tomorrow|tomorrow)\b"
    r"|\b(?P<side>last|this|next) (?P<unit>weekend|week|month|year)\b"
    rf"|\b(?P<of>on|last|this|next) (?P<weekday>{'|'.join(_WEEKDAYS)})\b"
    rf"|\b(?P<which>last|this|next) (?P<month>{MONTH})\b(?!\.?\s+\d)"
    r"|(?P<named_zh>今[天日晚早晨]|昨[天日晚夜]|(?<!大)前天|明[天日晚早]|(?<!大)后天)"
    # What is every week, or every two, is on no day.
    r"|(?P<side_zh>(?<!上)上|这|本|(?<!下)下)一?个?(?:周|星期|礼拜)(?P<weekday_zh>[一二三四五六日天末]?)"
    r"|(?<![每隔个上下一两三四五六七八九十\d])(?:周|星期|礼拜)(?P<plain_zh>[一二三四五六日天末])"
    r"|(?P<month_zh>上个?月|这个?月|本月|下个?月)|(?P<year_zh>前年|去年|今年|明年)",
    re.IGNORECASE,
)
_NAMED = {
    **dict.fromkeys(("the day before yesterday", "前"), -2),
    **dict.fromkeys(("yesterday", "last night", "昨"), -1),
    **dict.fromkeys(("tomorrow", "明"), 1),
    **dict.fromkeys(("the day after tomorrow", "day after tomorrow", "后"), 2),
}
_SIDES = {"last": -1, "上": -1, "this": 0, "这": 0, "本": 0, "next": 1, "下": 1}
_YEARS = {"前": -2, "去": -1, "今": 0, "明": 1}
_WEEKEND = 5


def extract_days(query: str, today: date) -> tuple[str, list[frozenset[str]]]:
    """Return a query without its dates, and for each date the marks of which one must match.

    Args:
        query: The question.
        today: The day on which it is asked.
    """
    rest, wanted = extract_dates(simplified(query))
    for match in _AGO.finditer(rest):
        wanted.append(frozenset(_ago(match, today)))
    rest = _AGO.sub(" ", rest)
    for match in _ASKED.finditer(rest):
        wanted.append(frozenset(_relative(match, today)))
    return (_ASKED.sub(" ", rest), wanted) if wanted else (query, [])


def _ago(match: re.Match[str], today: date) -> list[str]:
    """Return the day, or the marks of the week, month or year, that lies some time back."""
    number = (match[1] or match[3]).lower()
    count = 1 if number in {"a", "an"} else _counted(number)
    match (match[2] or match[4]).lower():
        case "day" | "天" | "日":
            return _days(today - timedelta(days=count), 1)
        case "month" | "个月":
            return [_month(today, -count)]
        case "year" | "年":
            return [f"@{today.year - count:04}"]
    return _days(_monday(today, -count), 7)


def _counted(number: str) -> int:
    return _NUMBER_WORDS.index(number) + 1 if number in _NUMBER_WORDS else number_of(number)


def _relative(match: re.Match[str], today: date) -> list[str]:
    said = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    match said:
        case {"named": named}:
            return _days(today + timedelta(days=_NAMED.get(named, 0)), 1)
        case {"named_zh": named}:
            return _days(today + timedelta(days=_NAMED.get(named[0], 0)), 1)
        case {"side": side, "unit": unit}:
            return _unit(unit, _SIDES[side], today)
        case {"of": side, "weekday": weekday}:
            return _weekday(side, _WEEKDAYS.index(weekday), today)
        case {"which": side, "month": month}:
            return [_next_month(month_number(month), _SIDES[side], today)]
        case {"side_zh": side, "weekday_zh": ""}:
            return _unit("week", _SIDES[side], today)
        case {"side_zh": side, "weekday_zh": weekday}:
            # In Chinese the week is said, and it begins on a Monday.
            first = _monday(today, _SIDES[side])
            return _days(first + timedelta(days=_place(weekday)), 2 if weekday == "末" else 1)
        case {"plain_zh": "末"}:
            return _unit("weekend", 0, today)
        case {"plain_zh": weekday}:
            return _weekday("on", _place(weekday), today)
        case {"month_zh": month}:
            return [_month(today, _SIDES[month[0]])]
    return [f"@{today.year + _YEARS[said['year_zh'][0]]:04}"]


def _unit(unit: str, side: int, today: date) -> list[str]:
    match unit:
        case "week":
            return _days(_monday(today, side), 7)
        case "weekend":
            return _days(_monday(today, side) + timedelta(days=_WEEKEND), 2)
        case "month":
            return [_month(today, side)]
    return [f"@{today.year + side:04}"]


def _weekday(side: str, number: int, today: date) -> list[str]:
    """Return the possible days: "on Tuesday" is the last one or the next one."""
    back = (today.weekday() - number) % 7
    last = _days(today - timedelta(days=back or (7 if side == "last" else 0)), 1)
    coming = _days(today + timedelta(days=7 - back), 1)
    match side:
        case "last":
            return last
        case "next":
            return list(dict.fromkeys([*coming, *_days(_monday(today, 1) + timedelta(days=number), 1)]))
    return last if back == 0 else [*last, *coming]


def _place(weekday: str) -> int:
    return _WEEKEND if weekday == "末" else min("一二三四五六日天".index(weekday), 6)


def _monday(today: date, weeks: int) -> date:
    return today + timedelta(days=7 * weeks - today.weekday())


def _month(today: date, months: int) -> str:
    year, month = divmod(12 * today.year + today.month - 1 + months, 12)
    return f"@{year:04}-{month + 1:02}"


def _next_month(month: int, side: int, today: date) -> str:
    """Return the possible months of a name: before, in or after this one."""
    passed = month < today.month if side < 0 else month <= today.month
    years = (0 if passed else -1) if side < 0 else (1 if passed else 0) if side > 0 else 0
    return f"@{today.year + years:04}-{month:02}"


def _days(first: date, count: int) -> list[str]:
    """Return the marks of consecutive days, with and without a year (a birthday)."""
    days = [first + timedelta(days=number) for number in range(count)]
    return [form.format(day) for day in days for form in ("@{:%Y-%m-%d}", "@--{:%m-%d}")]
