"""Reminders and timers: the request to the tool `schedule`, and the answer from its result. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from integrations.models.offline.recognizer import RecognizedIntent
from integrations.models.offline.replies import date_text, reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_items, read_json
from integrations.models.offline.time_phrase import ParsedTime
from integrations.models.offline.when import amount_of, find_time

TOOL = "schedule"
TOLD_LIMIT = 20

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
_RISING = re.compile(r"\b(?:get|getting|wake|waking)\b(?: \w+)? up\b|起床|醒", re.IGNORECASE)
"""What people do in the morning, when "at 7" means the morning."""
_LITTLE_WORDS = {"the", "a", "an", "my", "to", "for", "about", "of", "的", "了"}


def about_schedules(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Return the next step of a turn about reminders and timers."""
    match intent.name:
        case "ListSchedules":
            return _list(results, language, now)
        case "CancelSchedule":
            return _cancel(intent, results, language, now)
        case _:
            return _remind(intent, results, language, now)


def _remind(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Set a reminder or a timer, then confirm its time."""
    reminder = _said(intent)
    if intent.name == "Timer":
        when = amount_of(intent.slots["amount"])
        text = reply("named_timer_text", language, text=reminder) if reminder else reply("timer_text", language)
    else:
        when, text = time_of(intent, now)
        text = text or reply("wake_text", language)
    if when is None:
        return Say(reply("when_missing", language, text=_reminder_text(reminder)))
    if not results:
        return Call(TOOL, {"action": "add", when.kind: when.value, "text": text})
    told = next_due_text(_entry(results[-1].output, "added"), now, language)
    if intent.name == "Timer":
        return Say(reply("timer_set", language, when=told))
    return Say(reply("reminder_set" if when.kind == "at" else "reminder_repeats", language, when=told, text=text))


def time_of(intent: RecognizedIntent, now: datetime) -> tuple[ParsedTime | None, str]:
    """Return the time that a sentence about a reminder or an alarm says, and the rest of it."""
    reminder = _said(intent)
    found = find_time(reminder, now)
    if found is None:
        return None, reminder
    when, text = found
    if when.morning is not None and (intent.name == "WakeUp" or _RISING.search(text)):
        when = ParsedTime(when.kind, when.morning)
    return when, text


def _said(intent: RecognizedIntent) -> str:
    reminder = " ".join(intent.slots[name] for name in ("before", "reminder") if name in intent.slots)
    return re.sub(r"^for\s+(?=\d|noon|midnight)", "at ", reminder).removeprefix("for ")


def _list(results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Return a reply that lists the reminders."""
    if not results:
        return Call(TOOL, {"action": "list"})
    entries = read_items(results[-1].output, "schedules")
    if not entries:
        return Say(reply("no_schedules", language))
    return Say(reply("schedule_list", language, lines=_lines(entries, now, language)))


def _cancel(intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime) -> Step:
    """Cancel the intended one, when it is clear which one."""
    if not results:
        return Call(TOOL, {"action": "list"})
    if len(results) > 1:
        return Say(reply("schedule_cancelled", language, text=_named(_entry(results[-1].output, "removed"))))
    entries = read_items(results[-1].output, "schedules")
    meant = meant_entries(entries, intent.slots.get("reminder", ""))
    if not meant:
        return Say(reply("schedule_unknown" if entries else "no_schedules", language))
    if len(meant) > 1:
        return Say(reply("schedule_many", language, lines=_lines(meant, now, language)))
    return Call(TOOL, {"action": "remove", "id": str(meant[0].get("id", ""))})


def next_due_text(entry: dict[str, Any], now: datetime, language: str) -> str:
    """Return when something is due next, as people say it, with its day: "tomorrow at 09:00"."""
    try:
        due = datetime.fromisoformat(str(entry.get("next"))).replace(tzinfo=None)
    except ValueError:
        return reply("no_time", language)
    day = due.date() - now.date()
    if not day:
        return reply("today_at", language, time=f"{due:%H:%M}")
    if day == timedelta(days=1):
        return reply("tomorrow_at", language, time=f"{due:%H:%M}")
    return reply("date_at", language, date=date_text(due, language), time=f"{due:%H:%M}")


def _reminder_text(reminder: str) -> str:
    return re.sub(r"^(?:to|about|of)\s+", "", reminder) or "…"


def _entry(output: str, key: str) -> dict[str, Any]:
    found = read_json(output).get(key)
    return found if isinstance(found, dict) else {}


def meant_entries(entries: list[dict[str, Any]], reminder: str) -> list[dict[str, Any]]:
    """Return the entries that share most words with a reminder; all of them when it has none."""
    wanted = _words(reminder)
    if not wanted:
        return entries
    shared = [(len(wanted & _words(f"{each.get('text', '')} {each.get('name', '')}")), each) for each in entries]
    best = max((count for count, _ in shared), default=0)
    return [each for count, each in shared if count == best and best * 2 >= len(wanted)]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _LITTLE_WORDS


def _lines(entries: list[dict[str, Any]], now: datetime, language: str) -> str:
    return "\n".join(f"- {_named(each)}: {next_due_text(each, now, language)}" for each in entries[:TOLD_LIMIT])


def _named(entry: dict[str, Any]) -> str:
    return str(entry.get("text") or entry.get("name") or entry.get("id") or "?")
