"""Times as people say them in English: patterns and what each means. Pure functions."""

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

_HOURS_OF_DAY = {"morning": 8, "noon": 12, "afternoon": 15, "evening": EVENING_HOUR, "night": EVENING_HOUR}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_COUNTED = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen",
)  # fmt: skip
_WORD_NUMBERS = {word: number for number, word in enumerate(_COUNTED)} | {
    "a": 1,
    "an": 1,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}
_SECONDS = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3_600, "hr": 3_600, "day": 86_400, "week": 604_800}

_NUMBER = r"(?:\d{1,6}|" + "|".join(sorted(map(re.escape, _WORD_NUMBERS), key=len, reverse=True)) + r")"
_UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)"
_AMOUNT = (
    rf"(?:half an hour|(?:{_NUMBER}|half an?) and a half {_UNIT}|{_NUMBER}[ -]?{_UNIT}"
    rf"(?:(?: and |, | ){_NUMBER}[ -]?{_UNIT})*(?: and a half)?)"
)
_HOUR_WORDS = _COUNTED[1:13]
_HOUR_WORD = r"(?:" + "|".join(_HOUR_WORDS) + r")"
_MINUTE_WORDS = {"oh five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45}
_MINUTE_WORD = r"(?:" + "|".join(sorted((each.replace("-", "[- ]") for each in _MINUTE_WORDS), key=len)[::-1]) + r")"
_FRACTIONS = {"half past": 30, "a quarter past": 15, "quarter past": 15, "a quarter to": -15, "quarter to": -15}
_FRACTION = r"(?:half past|(?:a )?quarter (?:past|to))"
_CLOCK_WORDS = (
    rf"(?:{_FRACTION} (?:{_HOUR_WORD}|\d{{1,2}})|{_HOUR_WORD}(?: {_MINUTE_WORD})?(?: o'?clock)?)(?: ?[ap]\.?m\.?)?"
    r"(?=$|[,.!?;]| (?:every|on|in|to|and|today|tonight|tomorrow|this|the day|daily|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday)\b)"
)
"""A clock in words, where nothing follows that it may count."""
_CLOCK = rf"(?:(?:[01]?\d|2[0-3])(?:[:.][0-5]\d)?(?: ?[ap]\.?m\.?)?(?: o'?clock)?|noon|midday|midnight|{_CLOCK_WORDS})"
_DAY = r"(?:" + "|".join(_DAYS) + r")"
_SOME_DAYS = rf"{_DAY}s?(?:(?:,? and |, ){_DAY}s?)*"
_ALL_DAYS = rf"(?:weekdays|weekends|{_DAY}s(?:(?:,? and |, ){_DAY}s)*)"
_MONTH = r"(?:" + "|".join(_MONTHS) + r")"
_PART = r"(?:morning|afternoon|evening|night)"


def english_amount(text: str) -> ParsedTime | None:
    """Return the delay that a bare amount means: "20 minutes", "an hour"."""
    return delay(_amount_seconds(text)) if re.fullmatch(_AMOUNT, text, re.IGNORECASE) else None


def _number(word: str) -> int:
    word = word.lower()
    return int(word) if word.isdigit() else _WORD_NUMBERS[word]


def _amount_seconds(text: str) -> float:
    text = text.lower()
    if text == "half an hour":
        return 1_800
    total = 0.0
    last_unit = 60
    for number, unit in re.findall(rf"({_NUMBER})(?: and a half)?[ -]?({_UNIT})", text):
        last_unit = _SECONDS[re.sub(r"s$", "", unit)]
        total += _number(number) * last_unit
    return total + (last_unit / 2 if "and a half" in text else 0)


def _clock(text: str) -> tuple[int, int] | None:
    text = text.lower().replace("o'clock", "").replace("oclock", "").strip()
    if text in {"noon", "midday"}:
        return 12, 0
    if text == "midnight":
        return 0, 0
    match = re.fullmatch(r"(\d{1,2})(?:[:.](\d\d))?\s*(?:([ap])\.?m\.?)?", _in_digits(text))
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour, minute


def _in_digits(text: str) -> str:
    """Return a clock in words in digits: "half past six pm" as "6:30 pm"."""
    found = re.fullmatch(
        rf"(?:(?P<part>{_FRACTION}) )?(?P<hour>{_HOUR_WORD}|\d{{1,2}})(?: (?P<minute>{_MINUTE_WORD}))?"
        r"(?P<half> ?[ap].*)?",
        text,
    )
    if found is None:
        return text
    hour = _WORD_NUMBERS[found["hour"]] if found["hour"] in _HOUR_WORDS else int(found["hour"])
    minutes = _FRACTIONS.get(found["part"] or "", 0) + _MINUTE_WORDS.get(
        (found["minute"] or "").replace("y f", "y-f"), 0
    )
    if minutes < 0:
        hour, minutes = (hour - 1) or 12, 60 + minutes
    return f"{hour}:{minutes:02}{found['half'] or ''}"


def _in(match: re.Match[str], now: datetime) -> ParsedTime | None:
    return delay(_amount_seconds(match["amount"]))


def _every(match: re.Match[str], now: datetime) -> ParsedTime | None:
    amount = match["amount"]
    seconds = _amount_seconds(amount if re.match(_NUMBER, amount, re.IGNORECASE) else f"1 {amount}")
    return ParsedTime("every", f"{round(seconds)}s") if seconds > 0 else None


def _every_day(match: re.Match[str], now: datetime) -> ParsedTime | None:
    named = match.groupdict()
    clock = _clock(named["clock"]) if named.get("clock") else None
    if named.get("clock") and clock is None:
        return None
    part = (named.get("part") or "").lower()
    hour, minute = clock or (_HOURS_OF_DAY.get(part, 8), 0)
    hour = _with_part(hour, part, named.get("clock") or "")
    day = (named.get("day") or "").lower()
    named_days = sorted({(_DAYS.index(each) + 1) % 7 for each in re.findall(_DAY, day)})
    days = {"weekday": "1-5", "weekend": "0,6"}.get(day.removesuffix("s")) or ",".join(map(str, named_days)) or "*"
    return ParsedTime("cron", f"{minute} {hour} * * {days}")


def _on_day(match: re.Match[str], now: datetime) -> ParsedTime | None:
    named = match.groupdict()
    word = (named.get("word") or "").lower()
    part = (named.get("part") or ("night" if word == "tonight" else "")).lower()
    said = named.get("clock")
    clock = _clock(said) if said else None
    if said and clock is None:
        return None
    hour, minute = clock or (_HOURS_OF_DAY.get(part, 9), 0)
    hour = _with_part(hour, part, said or "")
    date = now.date()
    if word == "tomorrow":
        date += timedelta(days=1)
    elif word == "the day after tomorrow":
        date += timedelta(days=2)
    elif word in _DAYS:
        date += timedelta(days=(_DAYS.index(word) - now.weekday() - 1) % 7 + 1)
    elif not said and not part:
        return None
    found = datetime.combine(date, time(hour, minute))
    if word not in {"today", "tonight"} and found <= now.replace(tzinfo=None):
        found += timedelta(days=1)
    return at(found)


def _with_part(hour: int, part: str, said: str) -> int:
    afternoon = part in {"afternoon", "evening", "night"}
    return hour + 12 if afternoon and 1 <= hour < 12 and not re.search(r"[ap]\.?m", said, re.IGNORECASE) else hour


def _at_clock(match: re.Match[str], now: datetime) -> ParsedTime | None:
    clock = _clock(match["clock"])
    if clock is None:
        return None
    said = _in_digits(match["clock"].strip().lower())
    return next_clock(clock, now, vague=re.fullmatch(r"\d{1,2}(?:[:.]\d\d)?", said) is not None)


def _on_date(match: re.Match[str], now: datetime) -> ParsedTime | None:
    named = match.groupdict()
    day, month = int(named["d1"] or named["d2"]), _MONTHS.index((named["m1"] or named["m2"]).lower()) + 1
    clock = _clock(named["clock"]) if named["clock"] else (9, 0)
    return on_month_day(month, day, clock, now)


def _iso(match: re.Match[str], now: datetime) -> ParsedTime | None:
    said = re.sub(r"^(?:at|on) ", "", match[0], flags=re.IGNORECASE)
    try:
        found = datetime.fromisoformat(said.replace(" ", "T"))
    except ValueError:
        return None
    return at(found if len(said) > len("2026-01-01") else found.replace(hour=9))


def _at_or_part(match: re.Match[str], now: datetime) -> ParsedTime | None:
    clock = _clock(match["clock"])
    if clock is None:
        return None
    part = match["part"]
    if not part:
        return _at_clock(match, now)
    return next_clock((_with_part(clock[0], part.lower(), match["clock"]), clock[1]), now, vague=False)


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w:]){pattern}(?![\w:])", re.IGNORECASE)


ENGLISH_TIMES: tuple[tuple[re.Pattern[str], Reading], ...] = (
    (_words(rf"at (?P<clock>{_CLOCK}) (?:every (?P<day>weekday|weekend|{_SOME_DAYS}|day)|daily)"), _every_day),
    (_words(rf"at (?P<clock>{_CLOCK}) on (?P<day>{_ALL_DAYS})"), _every_day),
    (_words(rf"on (?P<day>{_ALL_DAYS})(?: in the (?P<part>{_PART}))?(?: at (?P<clock>{_CLOCK}))?"), _every_day),
    (
        _words(rf"every (?P<day>weekday|weekend|{_SOME_DAYS}|day)(?: (?P<part>{_PART}))?(?: at (?P<clock>{_CLOCK}))?"),
        _every_day,
    ),
    (_words(rf"(?:daily|every (?P<part>{_PART}))(?: at (?P<clock>{_CLOCK}))?"), _every_day),
    (_words(rf"every (?P<amount>{_AMOUNT}|second|minute|hour|week)"), _every),
    (_words(r"(?:at |on )?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?"), _iso),
    (
        _words(
            rf"(?:on )?(?:the )?(?:(?P<d1>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})"
            rf"|(?P<m2>{_MONTH}) (?P<d2>[0-3]?\d)(?:st|nd|rd|th)?)(?:,? at (?P<clock>{_CLOCK}))?"
        ),
        _on_date,
    ),
    (_words(rf"in (?P<amount>{_AMOUNT})(?: from now)?"), _in),
    (_words(rf"(?P<amount>{_AMOUNT}) from now"), _in),
    (
        _words(
            rf"at (?P<clock>{_CLOCK}) (?:on )?(?P<word>the day after tomorrow|tomorrow|tonight|today|{_DAY})"
            rf"(?: (?P<part>{_PART}))?"
        ),
        _on_day,
    ),
    (
        _words(
            rf"(?:on |next |this )?(?P<word>the day after tomorrow|tomorrow|tonight|today|{_DAY})"
            rf"(?: (?P<part>{_PART}))?(?: at (?P<clock>{_CLOCK}))?"
        ),
        _on_day,
    ),
    (_words(rf"at (?P<clock>{_CLOCK})(?: in the (?P<part>{_PART}))?"), _at_or_part),
    (_words(rf"(?:this|in the) (?P<part>{_PART})(?: at (?P<clock>{_CLOCK}))?"), _on_day),
)
"""In the order in which they are tried."""
