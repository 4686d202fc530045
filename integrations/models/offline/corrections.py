"""Corrections: which entry is no longer true, and its replacement. Pure functions.

"No, it's on Tuesday" is about the last statement; "the boiler was serviced on 14 May instead of 12 May" names what it
replaces. Unless exactly one entry is possible, nothing is changed and the question is returned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hub.memory.alike import gist_of
from hub.memory.words import fold
from integrations.models.offline.entries import RecalledEntry, entries_in, parse_query, with_places
from integrations.models.offline.hearing import plain
from integrations.models.offline.memories import FITS_SHARE, LIST_LIMIT, REMEMBER, SEARCH, remembered_text
from integrations.models.offline.recognizer import RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_HAN = "零〇一二两三四五六七八九十百千"
_VALUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\d{{4}}-\d\d-\d\d|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?\b"
        rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?!\w)(?:,? \d{{4}})?"
        rf"|(?:\d{{4}}年)?[\d{_HAN}]{{1,3}}月[\d{_HAN}]{{1,3}}[日号]",
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:星期|礼拜|周)[一二三四五六日天]",
        rf"\b\d{{1,2}}[:：]\d\d\b|\b\d{{1,2}} ?(?:am|pm)\b|\b\d{{1,2}} o'clock\b"
        rf"|(?:早上|上午|中午|下午|晚上)?[\d{_HAN}]{{1,3}}点(?:半|钟|[\d{_HAN}]{{1,3}}分?)?",
        rf"\d[\d.,]*|[{_HAN}]+(?=[个年月岁块元米斤号])",
    )
)
"""Days, weekdays, times and numbers: one is put in the place of the only other of its kind."""
_BEFORE_VALUE = re.compile(r"\A(?:on|at|in|for|the|by|from)\s+|\A在", re.IGNORECASE)


def correct(
    intent: RecognizedIntent,
    results: Sequence[StepResult],
    language: str,
    now: datetime,
    previous: Sequence[RecalledEntry],
) -> Step:
    """Write what holds now in the place of what held."""
    if results and results[-1].tool == REMEMBER:
        return Say(_corrected(results[-1].output, language))
    looked = [each for each in results if each.tool == SEARCH]
    candidates = entries_in(looked[-1].output, "hits") if looked else list(previous)
    if topic := intent.slots.get("topic"):
        wanted = parse_query(topic, now.date())
        candidates = [each for each in candidates if wanted.share(each) == 1]
    made = {each.text: text for each in candidates if (text := _instead(each, intent, is_last=not looked)) is not None}
    if len(made) == 1:
        [(old, new)] = made.items()
        return Call(REMEMBER, {"text": new, "replaces": old})
    if not looked:
        return Call(SEARCH, {"query": " ".join(intent.slots.values()), "limit": LIST_LIMIT})
    if made:
        meant = [each for each in candidates if each.text in made]
        return Say(reply("correct_many", language, lines=with_places(meant, language)))
    return Say(reply("correct_how", language))


def _instead(told: RecalledEntry, intent: RecognizedIntent, *, is_last: bool) -> str | None:
    """Return the corrected entry; None if the correction is about something else."""
    new, old = intent.slots["new"], intent.slots.get("old")
    if old is not None:
        bare, text = _value(old), plain(told.text).lower()
        if intent.name == "CorrectPlain" and not _is_about(new, told.text):
            return None
        at = text.find(plain(bare).lower())
        if at < 0 or len(text) != len(told.text):
            return None
        if _is_about(new, told.text):
            return new
        if intent.name == "Change" and not is_last and not _same_kind(old, new):
            return None
        return f"{told.text[:at]}{_value(new)}{told.text[at + len(bare) :]}"
    if intent.name != "CorrectPlain" and (put := _put(new, told.text)) is not None:
        return put if is_last or intent.name == "Change" else None
    return new if _is_about(new, told.text) else None


def _put(new: str, text: str) -> str | None:
    """Return a text with a value in the place of the only one of its kind; None when there is not one."""
    value = _value(new)
    for pattern in _VALUES:
        if pattern.fullmatch(plain(value)):
            found = list(pattern.finditer(plain(text)))
            if len(found) != 1:
                return None
            begin, end = found[0].span()
            return f"{text[:begin]}{value}{text[end:]}"
    return None


def _is_about(new: str, text: str) -> bool:
    """Whether a sentence contradicts another about the same thing."""
    ours, theirs = gist_of(new), gist_of(text)
    shared = ours.frame & theirs.frame
    both = ours.frame | theirs.frame
    return len(shared) >= 2 and len(shared) / len(both) >= FITS_SHARE and fold(new) != fold(text)


def _same_kind(old: str, new: str) -> bool:
    return any(pattern.fullmatch(plain(_value(old))) and pattern.fullmatch(plain(_value(new))) for pattern in _VALUES)


def _value(said: str) -> str:
    return _BEFORE_VALUE.sub("", said).strip()


def _corrected(output: str, language: str) -> str:
    """Return in words what was struck: the tool names it in lines `struck in PATH, line N: TEXT`."""
    struck = re.findall(r"^struck in [^:\n]+: (.*)$", output, re.MULTILINE)
    said = remembered_text(output.partition("\n")[0], language)
    return f"{said}\n{reply('corrected', language, text=struck[0])}" if struck else said
