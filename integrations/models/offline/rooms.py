"""What is said to a satellite in a room: timers and alarms that ring there, and announcements. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from integrations.models.offline.devices import read_devices
from integrations.models.offline.household import ACT, LOOK
from integrations.models.offline.recognizer import ENGLISH, RecognizedIntent
from integrations.models.offline.reminders import TOOL as SCHEDULE, next_due_text, time_of
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_items, read_json
from integrations.models.offline.time_phrase import ParsedTime
from integrations.models.offline.when import amount_of

TIMER, ANNOUNCE = "timer", "announce"

_TIMER = re.compile(r"\b(?:timer|alarm)s?\b|计时|定时|闹钟", re.IGNORECASE)
_ALARM = re.compile(r"\balarms?\b|闹钟", re.IGNORECASE)
_IN = re.compile(
    r"in (?:the )?(?:(?P<far>.{1,60}?)(?:,|:| that\b)|(?P<near>[\w-]+(?: room)?)) ?(?P<message>.+)", re.IGNORECASE
)
"""The room and the words in "tell everyone in the kitchen dinner is ready"."""
_AND = re.compile(r",|、|\band\b|[和与跟]")
_CRON = re.compile(r"(\d+) (\d+) \* \* (\S+)")
_WEEKDAYS = {"0": "sun", "1": "mon", "2": "tue", "3": "wed", "4": "thu", "5": "fri", "6": "sat"}
_REPEATED = {"*": ["daily"], "1-5": ["weekdays"], "0,6": ["weekends"]}


def is_of_room(intent: RecognizedIntent, said: str, tools: Collection[str]) -> bool:
    """Whether a sentence that was spoken in a room is about timers or alarms there, or reminds whoever is there."""
    match intent.name:
        case "Timer" | "TimerDo" | "AlarmDo" | "WakeUp":
            return True
        case "Remind":
            return _ALARM.search(said) is not None or SCHEDULE not in tools
        case "ListSchedules" | "CancelSchedule":
            return _TIMER.search(said) is not None
    return False


def in_room(
    intent: RecognizedIntent,
    results: Sequence[StepResult],
    language: str,
    now: datetime,
    *,
    room: str,
    tools: Collection[str],
) -> Step | None:
    """Return the next step about timers of rooms; None where something else is meant.

    Args:
        intent: See `is_of_room`.
        results: Of the tools so far.
        language: To answer in.
        now: Local time.
        room: The room of the speaker; empty where nobody knows.
        tools: Names of the tools that may be called.
    """
    slots = intent.slots
    name = "" if intent.name in ("WakeUp", "Remind") else slots.get("name", "")
    if intent.name in ("Timer", "CancelSchedule"):
        name = name or slots.get("reminder", "")
    told = [each for each in results if each.tool == TIMER]
    if (
        name and not told and intent.name != "AlarmDo" and LOOK in tools and ACT in tools
    ):  # a timer of the home of that name goes before
        looked = [each for each in results if each.tool == LOOK]
        if not looked:
            return Call(LOOK, {"domain": "timer", "search": name})
        if read_devices(looked[0].output):
            return None
    if not told:
        arguments = _arguments(intent, name, now)
        return Call(TIMER, arguments) if arguments is not None else None
    key = next(iter(read_json(told[-1].output)), "")
    found = read_items(told[-1].output, key)
    if key == "timers":
        return Say(_listed(intent, name, found, room, language, now))
    if key == "set":
        return Say(_set(found[0], now, language))
    if key in ("paused", "resumed"):
        return Say(reply(f"timer_{key}", language, name=_called(found[0], room, language)))
    if key in ("changed", "skipped", "snoozed", "silenced"):
        return Say(_changed(key, found[0], room, language, now))
    names = ", ".join(_called(each, room, language) for each in found)
    return Say(reply("schedule_cancelled", language, text=names) if found else reply("no_timer", language))


def announce(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    """Say something in rooms, then tell where."""
    message, place = intent.slots["message"], intent.slots.get("place", "")
    if not place and (within := _IN.fullmatch(message)) is not None:
        message, place = within["message"].strip(), within["far"] or within["near"]
    if place and amount_of(place) is not None:  # "we leave in five minutes"
        message, place = f"{message} in {place}", ""
    if not results:
        rooms = [each.strip() for each in _AND.split(place) if each.strip()]
        return Call(ANNOUNCE, {"message": message, **({"rooms": rooms} if rooms else {})})
    told = read_json(results[-1].output)
    between = ", " if language == ENGLISH else "、"
    said = reply("announced", language, rooms=between.join(map(str, told.get("said_in", ()))))
    failed = told.get("not_said")
    if not isinstance(failed, dict):
        return Say(said)
    return Say(f"{said} {reply('not_announced', language, rooms=between.join(map(str, failed)))}")


def _arguments(intent: RecognizedIntent, name: str, now: datetime) -> dict[str, Any] | None:
    slots = intent.slots
    named = {"name": name} if name else {}
    if intent.name == "ListSchedules" or slots.get("do") == "left":
        return {"action": "list"}
    if intent.name in ("WakeUp", "Remind"):
        when, text = time_of(intent, now)
        times = _times(when)
        if times is None:
            return None  # every so many minutes: a reminder
        if "at" in times and times["at"].endswith("s") and not text:
            times = {"duration": times["at"]}
        return {"action": "set", **times, **({"name": text[:100]} if text else {})}
    if intent.name == "Timer":
        amount = amount_of(slots["amount"])
        return {"action": "set", "duration": amount.value, **named} if amount is not None else None
    match slots.get("do", "cancel"):
        case "cancel_all":
            return {"action": "cancel", "all": True}
        case "add" | "take" as do:
            amount = amount_of(slots["amount"])
            sign = "-" if do == "take" else ""
            return {"action": "change", "by": f"{sign}{amount.value}", **named} if amount is not None else None
        case "snooze":
            amount = amount_of(slots.get("amount", ""))
            return {"action": "snooze", **({"duration": amount.value} if amount is not None else {})}
        case "move":
            said = re.sub(r"^(?=\d|noon|midnight|half|a quarter|quarter|[a-z]+$)", "at ", slots["reminder"])
            times = _times(time_of(RecognizedIntent("WakeUp", intent.language, {"reminder": said}), now)[0])
            return {"action": "change", **times, **named} if times is not None else None
        case do:
            return {"action": do, **named}


def _times(when: ParsedTime | None) -> dict[str, Any] | None:
    """Return when an alarm rings as the tool takes it: once, or on some days of the week; None for neither."""
    if when is None:
        return None
    if when.kind == "at":
        return {"at": when.value}
    if (found := _CRON.fullmatch(when.value)) is None:
        return None
    minute, hour, days = found.groups()
    repeat = _REPEATED.get(days) or [_WEEKDAYS[each] for each in days.split(",")]
    return {"at": f"{int(hour):02}:{int(minute):02}", "repeat": repeat}


def _set(timer: dict[str, Any], now: datetime, language: str) -> str:
    when = next_due_text({"next": timer.get("ends")}, now, language)
    if timer.get("repeats"):
        return reply("alarm_repeats", language, repeats=f"{timer['repeats']}", when=when)
    if timer.get("alarm"):
        return reply("alarm_set", language, when=when)
    left = _time(timer, language)
    if not timer.get("name"):
        return reply("timer_begins", language, left=left)
    return reply("named_timer_begins", language, name=f"{timer.get('called')}", left=left)


def _changed(key: str, timer: dict[str, Any], room: str, language: str, now: datetime) -> str:
    """Say what became of a timer: when it rings now."""
    if key == "changed" and not timer.get("alarm"):
        return _left(timer, room, language, now)
    when = next_due_text({"next": timer.get("ends")}, now, language)
    if key == "snoozed":
        return reply("timer_snoozed", language, left=_time(timer, language))
    return reply(f"alarm_{key}", language, name=_called(timer, room, language), when=when)


def _listed(
    intent: RecognizedIntent, name: str, found: Sequence[dict[str, Any]], room: str, language: str, now: datetime
) -> str:
    said = {*name.casefold().split()}
    meant = [each for each in found if said <= {*f"{each.get('name')} {each.get('called')}".casefold().split()}]
    if name and not meant:
        meant = [each for each in found if name.casefold() in f"{each.get('called')}".casefold()]
    if intent.name != "ListSchedules" and not name:  # how long of that one here
        meant = [each for each in meant if each.get("room") == room] or meant
    if not meant:
        return reply("no_timer" if name else "no_timers", language)
    return "\n".join(_left(each, room, language, now) for each in meant)


def _left(timer: dict[str, Any], room: str, language: str, now: datetime) -> str:
    called, state = _called(timer, room, language), timer.get("state")
    if state == "ringing":
        return reply("timer_rings", language, name=called)
    if timer.get("repeats"):
        when = next_due_text({"next": timer.get("ends")}, now, language)
        key = "alarm_is_off" if state == "paused" else "alarm_next"
        return reply(key, language, name=called, repeats=f"{timer['repeats']}", when=when)
    key = "timer_is_paused" if state == "paused" else "timer_left"
    return reply(key, language, name=called, left=_time(timer, language))


def _called(timer: dict[str, Any], room: str, language: str) -> str:
    """Return what a timer is called, with its room if that is another one."""
    called, where = f"{timer.get('called')}", timer.get("room")
    if not where or where == room:
        return called
    return f"{called} ({where})" if language == ENGLISH else f"{called}（{where}）"


def _time(timer: dict[str, Any], language: str) -> str:
    """Return the time that is left, as people say it."""
    left = timer.get("left_s")
    whole = left if isinstance(left, int) else 0
    parts = (whole // 3_600, whole // 60 % 60, whole % 60)
    if language != ENGLISH:
        told = [f"{count}{unit}" for count, unit in zip(parts, ("小时", "分钟", "秒"), strict=True) if count]
        return "".join(told) or "0秒"
    units = ("hour", "minute", "second")
    told = [f"{count} {unit}{'s' * (count != 1)}" for count, unit in zip(parts, units, strict=True) if count]
    return " ".join(told) or "0 seconds"
