"""Decides how to answer a sentence: with a reply, or with a tool call first. Pure functions over plain data.

A turn is decided again after each tool result, from the sentence and the results so far, exactly as a model would.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from integrations.models.offline import corrections, memories
from integrations.models.offline.arithmetic import work_out
from integrations.models.offline.devices import read_devices
from integrations.models.offline.entries import RecalledEntry, lines, parse_query
from integrations.models.offline.failures import failure_text
from integrations.models.offline.hearing import ends_as_question
from integrations.models.offline.household import VERBS, act, ask, tell, why
from integrations.models.offline.listening import listen, search_limit
from integrations.models.offline.lists import keep_list
from integrations.models.offline.recognizer import CHINESE, ENGLISH, RecognizedIntent
from integrations.models.offline.reminders import about_schedules
from integrations.models.offline.replies import date_text, reply
from integrations.models.offline.rooms import ANNOUNCE, TIMER, announce, in_room, is_of_room
from integrations.models.offline.standing import TOOL as STANDING, reminders_step, reminders_text, removal_step
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_json
from integrations.models.offline.timers import about_timers, is_about_timers

DEVICES_LIMIT = 100
NAME_LIMITS = {ENGLISH: 24, CHINESE: 12}
"""Characters of what may be the mere name of something that is remembered."""
LOOKED_AT_LIMIT = 400
"""Characters of what is not understood that are looked up, or said back."""
STATEMENT_LIMIT = 8
"""Characters from which words that are no question may be something to be remembered."""

_ASKS_FOR = re.compile(
    r"(?:please |let's )?(?:tell|show|give|write|explain|translate|summari[sz]e|find|search|play|sing|draw|open|send"
    r"|read|call|book|order|help|make|create|check|look)\b|请|帮我|给我|讲|翻译|写",
    re.IGNORECASE,
)
"""What begins so is to be done, not to be remembered."""
_TOOL_OF = {
    "Remember": "remember",
    "Keep": "remember",
    "KeepTodo": "remember",
    "Replace": "remember",
    "Done": "forget",
    "ListAdd": "remember",
    "ListOff": "forget",
    "ListShow": "memory_search",
    "Todo": "remember",
    "Correct": "remember",
    "CorrectPlain": "remember",
    "Change": "remember",
    "Recall": "memory_search",
    "ListTodos": "memory_search",
    "ListMemories": "memory_search",
    "Forget": "forget",
    "ForgetAll": "forget",
    "StandingAdd": STANDING,
    "StandingList": STANDING,
    "StandingRemove": STANDING,
    "Status": "session_status",
    "GetState": "get_state",
    "ListStates": "get_state",
    "Ask": "get_state",
    "Why": "why",
    **dict.fromkeys((*VERBS, "Do", "SetTo"), "home"),
    "Announce": ANNOUNCE,
    "Remind": "schedule",
    "WakeUp": "schedule",
    "Timer": "schedule",
    "TimerDo": "schedule",
    "AlarmDo": TIMER,
    "ListSchedules": "schedule",
    "CancelSchedule": "schedule",
}
_IN_ROOMS = frozenset(
    {"Announce", "Timer", "TimerDo", "AlarmDo", "WakeUp", "Remind", "ListSchedules", "CancelSchedule"}
)
"""What may be about a room, or about a timer of the home."""
_LOOKS_UP_FIRST = frozenset({"Correct", "CorrectPlain", "Change", "Forget", "ForgetAll", "Replace", "Done", "ListOff"})
"""What needs `memory_search` beside its own tool."""


class OfflineTurn(Struct, frozen=True):
    """The input of a turn, and the means to answer it.

    Attributes:
        said: The words.
        language: To answer in.
        now: Local time.
        tools: Names of the tools that may be called.
        previous: The memories mentioned in the turn before.
        room: The area of the home in which it was said; empty where nobody knows.
        is_spoken: Whether it was said to a satellite.
    """

    said: str
    language: str
    now: datetime
    tools: Collection[str]
    previous: Sequence[RecalledEntry] = ()
    room: str = ""
    is_spoken: bool = False


def decide(intent: RecognizedIntent | None, results: Sequence[StepResult], turn: OfflineTurn) -> Step:
    """Return the next step of a turn.

    Args:
        intent: The recognised intent; None when it was not understood.
        results: The results of the tools called in this turn so far, oldest first.
        turn: The input of a turn, and the means to answer it.
    """
    language, now = turn.language, turn.now
    if results and results[-1].is_error:
        return Say(failure_text(results[-1].tool, results[-1].output, language))
    if intent is None:
        return _not_understood(results, turn)
    intent = _possible(intent, turn) if intent.name == "Why" else intent
    if intent.name in _IN_ROOMS and (step := _about_rooms(intent, results, turn)) is not None:
        return step
    if intent.name == "ForgetWhich":
        return Say(memories.ask_which_to_forget(intent, turn.previous, language))
    if intent.name not in _TOOL_OF:
        return Say(_known(intent, language, now))
    needed = [_TOOL_OF[intent.name], *(["memory_search"] if intent.name in _LOOKS_UP_FIRST else [])]
    if missing := [tool for tool in needed if tool not in turn.tools]:
        return Say(reply("tool_missing", language, tool=missing[0]))
    if (step := _about_memory(intent, results, turn)) is not None:
        return step
    match intent.name:
        case "StandingAdd" | "StandingList" | "StandingRemove":
            return reminders_step(intent, results, language, now.date())
        case "ListSchedules" | "CancelSchedule" if STANDING in turn.tools:
            return _about_both(intent, results, turn)
        case "Remind" | "WakeUp" | "Timer" | "ListSchedules" | "CancelSchedule":
            return about_schedules(intent, results, language, now)
        case "Status":
            return _status(results, language)
        case "ListStates":
            return _list_devices(results, language)
        case "Why":
            return why(intent, results, language) or _of_memory(intent, results, turn)
        case "GetState" | "Ask":
            return _of_home(intent, results, turn)
        case _:
            return act(intent, results, language)


def _possible(intent: RecognizedIntent, turn: OfflineTurn) -> RecognizedIntent:
    """Return the intent, or that of asking memory where the hub cannot tell why."""
    if intent.name != "Why" or {"why", "get_state"} <= set(turn.tools):
        return intent
    return RecognizedIntent("Recall", intent.language, {"query": intent.slots["query"]})


def _about_rooms(intent: RecognizedIntent, results: Sequence[StepResult], turn: OfflineTurn) -> Step | None:
    """Return the next step about what rings or is said in rooms, or a timer of the home; None for others."""
    language, now, tools = turn.language, turn.now, turn.tools
    if intent.name == "Announce" and ANNOUNCE in tools:
        return announce(intent, results, language)
    is_of_satellite = TIMER in tools and (turn.is_spoken or intent.name == "AlarmDo")
    if is_of_satellite and is_of_room(intent, turn.said, tools):
        step = in_room(intent, results, language, now, room=turn.room, tools=tools)
        if step is not None:
            return step
    if "get_state" in tools and (is_of_satellite or "schedule" in tools) and is_about_timers(intent, turn.said):
        return about_timers(intent, results, language, now, tools)
    return None


def _about_memory(intent: RecognizedIntent, results: Sequence[StepResult], turn: OfflineTurn) -> Step | None:
    """Return the next step about memory; None when it is not about that."""
    language, now = turn.language, turn.now
    match intent.name:
        case "Remember" | "Todo":
            return memories.remember(intent, results, language)
        case "Keep" | "KeepTodo" | "Replace" | "Done":
            step = listen(intent, results, language, turn.previous)
            return step or _not_understood(results[search_limit(intent) :], turn)
        case "ListAdd" | "ListOff" | "ListShow":
            return keep_list(intent, results, language, has_home={"get_state", "call_service"} <= set(turn.tools))
        case "Recall":
            step = memories.recall(intent, results, language, now, turn.said)
            if step != Say(reply("not_recalled", language)) or "get_state" not in turn.tools:
                return step
            return tell(results, intent.query, language, now) or step
        case "ListTodos" | "ListMemories":
            return memories.list_memories(intent, results, language, now)
        case "Forget" | "ForgetAll":
            return memories.forget(intent, results, language, now)
        case "Correct" | "Change":
            return corrections.correct(intent, results, language, now, turn.previous)
        case "CorrectPlain":
            # "X, not Y" may as well be a statement.
            step = corrections.correct(intent, results, language, now, turn.previous)
            is_unclear = step == Say(reply("correct_how", language))
            return _unknown("unknown_statement", turn) if is_unclear else step
    return None


def _not_understood(results: Sequence[StepResult], turn: OfflineTurn) -> Step:
    """Search memory for what may be a question or a name; else list the possibilities."""
    language, text = turn.language, turn.said.strip()
    if len(text) > LOOKED_AT_LIMIT:
        return _unknown("unknown", turn)
    is_question = ends_as_question(text)
    if "memory_search" in turn.tools and (is_question or len(text) <= NAME_LIMITS[language]):
        wanted = parse_query(text, turn.now.date(), text)
        least = memories.ANY_SHARE if is_question else memories.WHOLE_SHARE
        if not results and (wanted.words or wanted.days):
            return Call("memory_search", {"query": wanted.text})
        if results and (answer := memories.reply_from(results[-1].output, wanted, language, least)):
            return Say(answer)
    if is_question:
        return _unknown("unknown_question", turn)
    if len(text) >= STATEMENT_LIMIT and "remember" in turn.tools and not _ASKS_FOR.match(text):
        return _unknown("unknown_statement", turn)
    return _unknown("unknown", turn)


def _unknown(key: str, turn: OfflineTurn) -> Say:
    """Say that it was not understood, and what would be; aloud the first alone, which takes a second and not forty."""
    return Say(reply("unknown_aloud" if turn.is_spoken else key, turn.language, text=turn.said.strip()))


def _about_both(intent: RecognizedIntent, results: Sequence[StepResult], turn: OfflineTurn) -> Step:
    """List reminders of both kinds, those for a time and those for a topic; cancel the requested one."""
    language, now = turn.language, turn.now
    by_time = [each for each in results if each.tool != STANDING]
    by_topic = [each for each in results if each.tool == STANDING]
    if intent.name == "CancelSchedule":
        step = about_schedules(intent, by_time, language, now)
        if step != Say(reply("schedule_unknown", language)) and step != Say(reply("no_schedules", language)):
            return step
        reminder = intent.slots.get("reminder", "")
        return removal_step(reminder, by_topic, language, now.date()) if reminder else step
    step = about_schedules(intent, by_time, language, now)
    if isinstance(step, Call):
        return step
    if not by_topic:
        return Call(STANDING, {"action": "list"})
    standing = reminders_text(by_topic[-1].output, language)
    if standing is None:
        return step
    return Say(standing if step == Say(reply("no_schedules", language)) else f"{step.text}\n\n{standing}")


def _status(results: Sequence[StepResult], language: str) -> Step:
    if not results:
        return Call("session_status")
    facts = read_json(results[-1].output)
    words = {"version": facts.get("version"), "zone": facts.get("time_zone"), "turns": facts.get("turns", 0)}
    shown = {key: str(value) for key, value in words.items()}
    return Say(reply("status", language, time=f"{facts.get('time', '')}"[11:16], **shown))


def _known(intent: RecognizedIntent, language: str, now: datetime) -> str:
    """Answer what needs no tool."""
    match intent.name:
        case "Time":
            return reply("time", language, time=f"{now:%H:%M}")
        case "Date":
            return reply("date", language, date=date_text(now, language))
        case "Calculate":
            return _sum(intent.slots["expression"], language)
        case _:
            return reply(intent.name.lower(), language)


def _sum(expression: str, language: str) -> str:
    value = work_out(expression)
    key = "sum_about" if value.startswith("≈") else "sum"
    return reply(key, language, expression=expression.strip(), value=value)


def _list_devices(results: Sequence[StepResult], language: str) -> Step:
    if not results:
        return Call("get_state", {"limit": DEVICES_LIMIT})
    devices = read_devices(results[-1].output)
    if not devices:
        return Say(reply("no_states", language))
    return Say(reply("state_list", language, lines=lines(each.told(language) for each in devices)))


def _of_home(intent: RecognizedIntent, results: Sequence[StepResult], turn: OfflineTurn) -> Step:
    language = turn.language
    if (step := ask(intent, results, language, turn.now, turn.said, is_in_room=bool(turn.room))) is not None:
        return step
    return _of_memory(intent, results, turn)


def _of_memory(intent: RecognizedIntent, results: Sequence[StepResult], turn: OfflineTurn) -> Step:
    """Answer from memory what is no device."""
    language = turn.language
    if "memory_search" in turn.tools:
        asked = {"query": intent.slots["day"]} if "day" in intent.slots else intent.slots
        recall = RecognizedIntent("Recall", intent.language, asked)
        return memories.recall(recall, results, language, turn.now, turn.said)
    return Say(reply("state_unknown", language, name=intent.slots.get("name", turn.said)))
