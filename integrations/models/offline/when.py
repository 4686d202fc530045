"""Finds the time in a reminder and removes it from the text, in English and Chinese. Pure functions.

"call Anna in 20 minutes" is the reminder "call Anna" and the time `1200s`; "每天早上七点吃药" is the reminder "吃药"
and the cron expression `0 7 * * *`.
"""

from __future__ import annotations

import re
from datetime import datetime

from integrations.models.offline.chinese_times import CHINESE_TIMES, chinese_amount
from integrations.models.offline.english_times import ENGLISH_TIMES, english_amount
from integrations.models.offline.time_phrase import ParsedTime

LENGTH_LIMIT = 1_000


def find_time(text: str, now: datetime) -> tuple[ParsedTime, str] | None:
    """Return the time that a text names and the text without it; None when it names none.

    Args:
        text: The message, in English or Chinese.
        now: Local time.
    """
    if len(text) > LENGTH_LIMIT:
        return None
    for pattern, read in (*ENGLISH_TIMES, *CHINESE_TIMES):
        # What is at an end of the sentence is meant; a time in its middle belongs to the reminder.
        for match in _at_the_ends(pattern, text):
            when = read(match, now)
            if when is not None:
                rest = f"{text[: match.start()]} {text[match.end() :]}"
                return when, _tidy(rest)
    return None


def _at_the_ends(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found = list(pattern.finditer(text))
    at_ends = [each for each in found if not text[each.end() :].strip(" .,!。，！") or not text[: each.start()].strip()]
    return sorted(at_ends, key=lambda each: each.start(), reverse=True) + [
        each for each in found if each not in at_ends
    ]


def _tidy(text: str) -> str:
    text = " ".join(text.split())
    text = re.sub(r"^(?:(?:to|that|about|please)\b|[,，、:：]|去(?=.))\s*", "", text, flags=re.IGNORECASE)
    return text.strip(" ,，、.。!！:：")


def amount_of(text: str) -> ParsedTime | None:
    """Return the delay that a bare amount means: "20 minutes", "二十分钟"; None when it is none."""
    said = text.strip()
    return english_amount(said) or chinese_amount(said)
