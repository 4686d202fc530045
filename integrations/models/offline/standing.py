"""Standing reminders: "when Anna comes up, remind me of …"; set, listed, removed, and shown when they come up. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from hub.memory.words import words_of
from integrations.models.offline.entries import lines, parse_query
from integrations.models.offline.recognizer import RecognizedIntent
from integrations.models.offline.replies import reply, short_date
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_items, read_json

TOOL = "standing_intent"
TOLD_LIMIT = 20

_QUOTED = re.compile(r"^> ?(.*)$", re.MULTILINE)


def reminders_step(intent: RecognizedIntent, results: Sequence[StepResult], language: str, today: date) -> Step:
    """Return the next step of a turn about standing reminders."""
    match intent.name:
        case "StandingAdd":
            return _add(intent, results, language)
        case "StandingList":
            if not results:
                return Call(TOOL, {"action": "list"})
            return Say(reminders_text(results[-1].output, language) or reply("no_standing", language))
    return removal_step(intent.slots["topic"], results, language, today)


def removal_step(topic: str, results: Sequence[StepResult], language: str, today: date) -> Step:
    """Remove the intended one, when it is clear which one."""
    mine = [each for each in results if each.tool == TOOL]
    if not mine:
        return Call(TOOL, {"action": "list"})
    if len(mine) > 1:
        return Say(reply("standing_removed", language, text=_named(read_json(mine[-1].output), language)))
    entries = read_items(mine[0].output, "intents")
    wanted = parse_query(topic, today).words
    meant = [
        each for each in entries if wanted and wanted <= set(words_of(f"{each.get('topic')} {each.get('remind')}"))
    ]
    if len(meant) == 1:
        return Call(TOOL, {"action": "remove", "id": str(meant[0].get("id", ""))})
    if not meant:
        return Say(reply("schedule_unknown", language))
    return Say(reply("schedule_many", language, lines=lines(_named(each, language) for each in meant)))


def reminders_text(output: str, language: str) -> str | None:
    """Return the standing reminders that there are in words; None when there are none."""
    entries = read_items(output, "intents")[:TOLD_LIMIT]
    if not entries:
        return None
    return reply("standing_list", language, lines=lines(_named(each, language) for each in entries))


def reminders_in(note: str) -> list[str]:
    """Return the reminders in a note of the hub: its quotations."""
    return [text.strip() for text in _QUOTED.findall(note) if text.strip()]


def _add(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    reminder, topic = intent.slots["reminder"], intent.slots["topic"]
    if not results:
        return Call(TOOL, {"action": "add", "topic": topic, "remind": reminder})
    until = _day(read_json(results[-1].output), language)
    return Say(reply("standing_added", language, topic=topic, text=reminder, until=until))


def _named(entry: dict[str, Any], language: str) -> str:
    topic, text = str(entry.get("topic") or "?"), str(entry.get("remind") or "?")
    return reply("standing", language, topic=topic, text=text, until=_day(entry, language))


def _day(entry: dict[str, Any], language: str) -> str:
    try:
        return short_date(date.fromisoformat(str(entry.get("until"))), language)
    except ValueError:
        return "?"
