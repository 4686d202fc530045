"""Replies of the offline model, in the language of the question."""

from __future__ import annotations

import json
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path

from integrations.models.offline.recognizer import CHINESE

_FOLDER = Path(__file__).parent / "replies"
_WEEKDAYS = ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def reply(key: str, language: str, **values: str) -> str:
    """Return the sentence `key` with its values."""
    sentences = _sentences(language)
    if "{upgrade}" in sentences[key]:
        values["upgrade"] = sentences["upgrade"]
    return sentences[key].format(**values)


def short_date(day: date, language: str) -> str:
    """Return a date in words, without the weekday."""
    if language == CHINESE:
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def date_text(now: datetime, language: str) -> str:
    """Return a date in words, independent of the process's locale."""
    if language == CHINESE:
        return f"{short_date(now, language)}，{_WEEKDAYS[now.weekday()]}"
    return f"{_DAYS[now.weekday()]}, {short_date(now, language)}"


@lru_cache(maxsize=4)
def _sentences(language: str) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return loaded
