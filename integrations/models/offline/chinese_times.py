"""Times as people say them in Chinese: patterns and what each means. Pure functions."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from integrations.models.offline.time_phrase import (
    EVENING_HOUR,
    ParsedTime,
    Reading,
    at,
    delay,
    next_clock,
    on_month_day,
)

_HAN_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = r"(?:\d{1,6}|[零〇一二三四五六七八九两十百]{1,6})"
_HAN_UNITS = {"秒": 1, "秒钟": 1, "分": 60, "分钟": 60, "小时": 3_600, "钟头": 3_600, "天": 86_400, "周": 604_800}
_HAN_UNIT = r"(?:秒钟?|分钟?|个?小时|个?钟头|天|个?星期|周)"
_HAN_PART = r"(?:凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|今晚|夜里)"
_HAN_CLOCK = rf"(?:{_HAN_PART})?{_HAN_NUMBER}(?:[:：][0-5]\d|(?:点|时)(?:钟|半|一刻|{_HAN_NUMBER}分?)?)"
_HAN_DAY = r"(?:周|星期|礼拜)[一二三四五六日天]"
_HAN_SOME_DAYS = rf"{_HAN_DAY}(?:[和、及与，,]每?{_HAN_DAY})*"


def chinese_amount(text: str) -> ParsedTime | None:
    """Return the delay that a bare amount means: 二十分钟."""
    said = rf"半个?(?:小时|钟头)|(?:{_HAN_NUMBER}(?:个半)?{_HAN_UNIT})+"
    return delay(_han_seconds(text)) if re.fullmatch(said, text) else None


def han_number(text: str) -> int:
    """Return 二十五 as 25; up to 999."""
    if text.isdigit():
        return int(text)
    total, current = 0, 0
    for character in text:
        if character == "百":
            total, current = total + max(current, 1) * 100, 0
        elif character == "十":
            total, current = total + max(current, 1) * 10, 0
        else:
            current = _HAN_DIGITS[character]
    return total + current


def _han_seconds(amount: str) -> float:
    if re.fullmatch(r"半个?(?:小时|钟头)", amount):
        return 1_800
    total = 0.0
    for number, half, unit in re.findall(rf"({_HAN_NUMBER})(个半)?({_HAN_UNIT})", amount):
        size = _HAN_UNITS.get(unit.removeprefix("个").replace("星期", "周"), 0)
        total += han_number(number) * size + (size / 2 if half else 0)
    return total


def _han_in(match: re.Match[str], now: datetime) -> ParsedTime | None:
    return delay(_han_seconds(match["amount"]))


def _han_every(match: re.Match[str], now: datetime) -> ParsedTime | None:
    amount = match["amount"]
    seconds = _han_seconds(amount if re.match(_HAN_NUMBER, amount) or amount.startswith("半") else f"1{amount}")
    return ParsedTime("every", f"{round(seconds)}s") if seconds > 0 else None


def _han_clock(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(
        rf"(?P<part>{_HAN_PART})?(?P<hour>{_HAN_NUMBER})(?:[:：](?P<colon>\d\d)|[点时](?P<tail>.*))", text
    )
    if match is None:
        return None
    hour, tail = han_number(match["hour"]), (match["tail"] or "").removesuffix("钟").removesuffix("分")
    minute = int(match["colon"]) if match["colon"] else {"": 0, "半": 30, "一刻": 15}.get(tail, -1)
    if minute < 0:
        minute = han_number(tail)
    if match["part"] in {"下午", "傍晚", "晚上", "今晚", "夜里"} and 1 <= hour < 12:
        hour += 12
    if match["part"] == "中午" and 1 <= hour <= 3:
        hour += 12
    return (hour % 24, minute) if hour <= 24 and minute < 60 else None


def _han_on_day(match: re.Match[str], now: datetime) -> ParsedTime | None:
    word, said, part = match["word"], match["clock"], match["part"]
    if said:
        clock = _han_clock(said)
        if clock is None:
            return None
    else:
        clock = (_part_hour(part), 0)
    days = {"今天": 0, "今晚": 0, "明天": 1, "明早": 1, "明晚": 1, "后天": 2, "大后天": 3}
    date = now.date()
    if word in days:
        date += timedelta(days=days[word])
    else:
        date += timedelta(days=(_han_weekday(word) - now.weekday() - 1) % 7 + 1)
    if word in {"今晚", "明晚"} and 1 <= clock[0] < 12:
        clock = (clock[0] + 12 if said else EVENING_HOUR, clock[1])
    return at(datetime.combine(date, time(*clock)))


def _part_hour(part: str | None) -> int:
    hours = {"凌晨": 3, "中午": 12, "下午": 15, "傍晚": 18, "晚上": EVENING_HOUR, "夜里": EVENING_HOUR}
    return hours.get(part or "", 9 if not part else 8)


def _han_weekday(word: str) -> int:
    return "一二三四五六日天".index(word[-1]) % 7 if word[-1] != "天" else 6


def _han_every_day(match: re.Match[str], now: datetime) -> ParsedTime | None:
    said, day = match["clock"], match["day"] or match["days"]
    clock = _han_clock(said) if said else (_part_hour(match["part"] or "早上"), 0)
    if clock is None:
        return None
    named = sorted({(_han_weekday(each) + 1) % 7 for each in re.findall(_HAN_DAY, day)})
    days = ",".join(map(str, named)) or {"工作日": "1-5", "周末": "0,6"}.get(day.removeprefix("个"), "*")
    return ParsedTime("cron", f"{clock[1]} {clock[0]} * * {days}")


def _han_on_date(match: re.Match[str], now: datetime) -> ParsedTime | None:
    clock = _han_clock(match["clock"]) if match["clock"] else (9, 0)
    return on_month_day(han_number(match["month"]), han_number(match["day"]), clock, now)


def _han_at_clock(match: re.Match[str], now: datetime) -> ParsedTime | None:
    clock = _han_clock(match["clock"])
    return None if clock is None else next_clock(clock, now, vague=re.match(_HAN_PART, match["clock"]) is None)


CHINESE_TIMES: tuple[tuple[re.Pattern[str], Reading], ...] = (
    (
        re.compile(
            rf"(?:每(?P<day>天|日|个?(?:工作日|周末)|{_HAN_SOME_DAYS})|(?P<days>工作日)(?={_HAN_CLOCK}))(?:的)?(?P<clock>{_HAN_CLOCK})?(?P<part>{_HAN_PART})?"
        ),
        _han_every_day,
    ),
    (re.compile(rf"每(?:隔)?(?P<amount>(?:{_HAN_NUMBER})?(?:个半)?{_HAN_UNIT}|半个?小时)"), _han_every),
    (re.compile(rf"(?P<amount>半个?(?:小时|钟头)|(?:{_HAN_NUMBER}(?:个半)?{_HAN_UNIT})+)(?:之后|以后|后)"), _han_in),
    (
        re.compile(rf"(?P<month>{_HAN_NUMBER})月(?P<day>{_HAN_NUMBER})[日号](?P<clock>{_HAN_CLOCK})?"),
        _han_on_date,
    ),
    (
        re.compile(
            rf"(?:下|这)?(?P<word>今天|今晚|明天|明早|明晚|大后天|后天|{_HAN_DAY})(?:的)?"
            rf"(?P<clock>{_HAN_CLOCK})?(?P<part>{_HAN_PART})?"
        ),
        _han_on_day,
    ),
    (re.compile(rf"(?:在)?(?P<clock>{_HAN_CLOCK})"), _han_at_clock),
)
"""In the order in which they are tried."""
