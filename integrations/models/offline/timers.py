"""Timers that run: how long is left, more or less time, pausing, cancelling. Timers of the home, and those said here.

A timer of the home is an entity with that name; one that was said in a conversation is an entry of the tool `schedule`.
Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from integrations.models.offline.devices import Device, read_devices
from integrations.models.offline.household import ACT, LOOK
from integrations.models.offline.recognizer import CHINESE, ENGLISH, RecognizedIntent
from integrations.models.offline.reminders import TOOL as SCHEDULE, about_schedules, meant_entries
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_items
from integrations.models.offline.when import amount_of

_TIMER = re.compile(r"timers?\b|计时器|定时器|倒计时", re.IGNORECASE)
_PAUSED = re.compile(r"paused, (\d+) s left")
_VERBS = {
    "add": "increase",
    "take": "decrease",
    "pause": "pause",
    "resume": "start",
    "cancel": "cancel",
    "cancel_all": "cancel",
}
_DONE = {"add": "timer_changed", "take": "timer_changed", "pause": "timer_paused", "resume": "timer_resumed"}


def is_about_timers(intent: RecognizedIntent, said: str) -> bool:
    """Whether a sentence is about timers that may be those of the home."""
    if intent.name == "Timer":
        return "reminder" in intent.slots
    return intent.name == "TimerDo" or (intent.name == "CancelSchedule" and _TIMER.search(said) is not None)


def about_timers(
    intent: RecognizedIntent, results: Sequence[StepResult], language: str, now: datetime, tools: Collection[str]
) -> Step:
    """Return the next step: a timer of the home of that name goes before one that was said."""
    slots = intent.slots
    name = slots.get("name") or slots.get("reminder") or ""
    do = {"Timer": "start", "CancelSchedule": "cancel"}.get(intent.name, slots.get("do", ""))
    looked = [each for each in results if each.tool == LOOK]
    if LOOK in tools and ACT in tools:
        if not looked:
            return Call(LOOK, {"domain": "timer", **({"search": name} if name else {})})
        found = read_devices(looked[0].output)
        if do != "start" and not name:
            found = [each for each in found if each.state in ("active", "paused")]
        if found:
            return _of_home(do, found, intent, results[1:], language, now)
    of_schedule = [each for each in results if each.tool == SCHEDULE]
    if intent.name != "TimerDo":
        return about_schedules(intent, of_schedule, language, now)
    if SCHEDULE not in tools:
        return Say(reply("tool_missing", language, tool=SCHEDULE))
    return _of_conversation(do, name, slots, of_schedule, language, now)


def _of_home(
    do: str,
    found: Sequence[Device],
    intent: RecognizedIntent,
    results: Sequence[StepResult],
    language: str,
    now: datetime,
) -> Step:
    if do == "left":
        return Say("\n".join(_left_of(each, now, language) for each in found))
    if len(found) > 1 and do != "cancel_all":
        return Say(reply("device_which", language, names=", ".join(each.name for each in found)))
    gone = len(results)
    if gone == len(found):
        names = ", ".join(each.name for each in found)
        return Say(reply(_DONE.get(do, "device_done"), language, name=names))
    arguments: dict[str, Any] = {"do": _VERBS.get(do, "start"), "name": found[gone].entity_id}
    if "amount" in intent.slots:
        seconds = _seconds(intent.slots["amount"])
        arguments["values"] = {"duration": -seconds if do == "take" else seconds}
    return Call(ACT, arguments)


def _left_of(timer: Device, now: datetime, language: str) -> str:
    ends = timer.attributes.get("finishes_at")
    if timer.state == "active" and ends:
        left = (datetime.fromisoformat(f"{ends}") - now.astimezone()).total_seconds()
        return reply("timer_left", language, name=timer.name, left=_words(left, language))
    if timer.state == "paused":
        return reply("timer_is_paused", language, name=timer.name, left=f"{timer.attributes.get('remaining', '')}")
    return reply("timer_idle", language, name=timer.name)


def _of_conversation(
    do: str, name: str, slots: dict[str, str], results: Sequence[StepResult], language: str, now: datetime
) -> Step:
    if not results:
        return Call(SCHEDULE, {"action": "list"})
    entries = [each for each in read_items(results[0].output, "schedules") if _is_timer(f"{each.get('text', '')}")]
    meant = meant_entries(entries, name)
    if not meant:
        return Say(reply("no_timer", language))
    done = len(results) - 1
    if do == "left":
        return Say("\n".join(_left(each, now, language) for each in meant))
    if do == "cancel_all":
        if done < len(meant):
            return Call(SCHEDULE, {"action": "remove", "id": str(meant[done].get("id", ""))})
        return Say(reply("schedule_cancelled", language, text=", ".join(f"{each.get('text')}" for each in meant)))
    if len(meant) > 1:
        return Say(reply("device_which", language, names=", ".join(f"{each.get('text')}" for each in meant)))
    entry = meant[0]
    if done:
        return Say(reply(_DONE[do], language, name=f"{entry.get('text')}".rstrip(".。")))
    change = _change(do, entry, slots, now)
    return Call(SCHEDULE, {"action": "update", "id": str(entry.get("id", "")), **change})


def _change(do: str, entry: dict[str, Any], slots: dict[str, str], now: datetime) -> dict[str, Any]:
    """Return the change of a timer; a pause keeps what is left in its name, where people see it too."""
    left = _remaining(entry, now)
    if do == "pause":
        return {"enabled": False, "name": f"paused, {left} s left"}
    if do == "resume":
        return {"enabled": True, "at": f"{left}s", "name": "timer"}
    amount = round(_seconds(slots["amount"]))
    return {"at": f"{max(1, left + (amount if do == 'add' else -amount))}s"}


def _remaining(entry: dict[str, Any], now: datetime) -> int:
    if (paused := _PAUSED.search(f"{entry.get('name', '')}")) is not None:
        return int(paused[1])
    try:
        due = datetime.fromisoformat(f"{entry.get('next')}")
    except ValueError:
        return 1
    return max(1, round((due - now.astimezone()).total_seconds()))


def _left(entry: dict[str, Any], now: datetime, language: str) -> str:
    left = _words(_remaining(entry, now), language)
    key = "timer_is_paused" if _PAUSED.search(f"{entry.get('name', '')}") else "timer_left"
    return reply(key, language, name=f"{entry.get('text')}".rstrip(".。"), left=left)


def _is_timer(text: str) -> bool:
    for language in (ENGLISH, CHINESE):
        before, after = reply("named_timer_text", language, text="\n").split("\n")
        if text == reply("timer_text", language) or (text.startswith(before) and text.endswith(after)):
            return True
    return False


def _seconds(amount: str) -> float:
    when = amount_of(amount)
    return float(when.value.removesuffix("s")) if when is not None else 0.0


def _words(seconds: float, language: str) -> str:
    """Return a time that is left, in hours, minutes and seconds."""
    whole = timedelta(seconds=max(0, round(seconds)))
    hours, rest = divmod(int(whole.total_seconds()), 3_600)
    units = ("h", "min", "s") if language == ENGLISH else ("小时", "分钟", "秒")
    parts = [f"{count} {unit}" for count, unit in zip((hours, rest // 60, rest % 60), units, strict=True) if count]
    return " ".join(parts) or f"0 {units[2]}"
