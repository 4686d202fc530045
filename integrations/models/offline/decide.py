"""What to do about a sentence: say something, or call a tool first. Pure functions over plain data.

A turn is decided anew after each tool result, from the sentence and the results so far, exactly as a model would.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from integrations.models.offline.arithmetic import work_out
from integrations.models.offline.devices import Device, find, read_devices
from integrations.models.offline.recognizer import Intent
from integrations.models.offline.reminders import about_schedules
from integrations.models.offline.replies import reply, tell_date
from integrations.models.offline.steps import Call, Result, Say, Step

GOOD_SHARE = 0.75
"""Memories that score at least this share of the best one are told with it."""
TOLD_LIMIT = 5
DEVICES_LIMIT = 100

_SERVICES = {"TurnOn": "turn_on", "TurnOff": "turn_off", "Toggle": "toggle"}
_DONE = {"TurnOn": "turned_on", "TurnOff": "turned_off", "Toggle": "toggled"}
_TOOL_OF = {
    "Remember": "remember",
    "Recall": "memory_search",
    "Forget": "forget",
    "Status": "session_status",
    "GetState": "get_state",
    "ListStates": "get_state",
    "TurnOn": "get_state",
    "TurnOff": "get_state",
    "Toggle": "get_state",
    "Remind": "schedule",
    "Timer": "schedule",
    "ListSchedules": "schedule",
    "CancelSchedule": "schedule",
}


def decide(
    intent: Intent | None, results: Sequence[Result], *, language: str, now: datetime, tools: Collection[str]
) -> Step:
    """Return the next step of a turn.

    Args:
        intent: What was meant; None when it was not understood.
        results: Of the tools called in this turn so far, oldest first.
        language: To answer in.
        now: Local time.
        tools: Names of the tools that may be called.
    """
    if intent is None:
        return Say(reply("unknown", language))
    if results and results[-1].is_error:
        return Say(reply("tool_failed", language, error=results[-1].output.removeprefix("error: ")))
    if intent.name not in _TOOL_OF:
        return Say(_known(intent, language, now))
    needed = _TOOL_OF[intent.name]
    if needed not in tools:
        return Say(reply("tool_missing", language, tool=needed))
    if needed == "schedule":
        return about_schedules(intent, results, language, now)
    match intent.name:
        case "Remember":
            return _remember(intent, results, language)
        case "Recall":
            return _recall(intent, results, language)
        case "Forget":
            return _forget(intent, results, language)
        case "Status":
            if not results:
                return Call("session_status")
            return Say(reply("status", language, status=results[-1].output))
        case "ListStates":
            return _list_devices(results, language)
        case "GetState":
            return _device_state(intent, results, language, tools)
        case _:
            return _command_device(intent, results, language, tools)


def _known(intent: Intent, language: str, now: datetime) -> str:
    """Answer what needs no tool."""
    match intent.name:
        case "Time":
            return reply("time", language, time=f"{now:%H:%M}")
        case "Date":
            return reply("date", language, date=tell_date(now, language))
        case "Calculate":
            return _sum(intent.slots["expression"], language)
        case _:
            return reply(intent.name.lower(), language)


def _sum(expression: str, language: str) -> str:
    value = work_out(expression)
    key = "sum_about" if value.startswith("≈") else "sum"
    return reply(key, language, expression=expression.strip(), value=value)


def _remember(intent: Intent, results: Sequence[Result], language: str) -> Step:
    if not results:
        return Call("remember", {"text": intent.slots["text"]})
    # "remembered in PATH, line N"
    where = results[-1].output.removeprefix("remembered in ").partition(", line")[0]
    place = reply("remembered_place", language, path=where) if "/" in where or where.endswith(".md") else ""
    return Say(reply("remembered", language, place=place))


def _recall(intent: Intent, results: Sequence[Result], language: str) -> Step:
    found = [each for each in results if each.tool == "memory_search"]
    if not found:
        return Call("memory_search", {"query": intent.query})
    hits = _items(found[-1].output, "hits")
    if not hits:
        return Say(reply("not_recalled", language))
    best = max(float(hit.get("score", 0)) for hit in hits)
    told = [str(hit["text"]).strip() for hit in hits if float(hit.get("score", 0)) >= best * GOOD_SHARE][:TOLD_LIMIT]
    if len(told) == 1:
        return Say(reply("recalled", language, text=told[0]))
    return Say(reply("recalled_many", language, lines=_lines(told)))


def _forget(intent: Intent, results: Sequence[Result], language: str) -> Step:
    if not results:
        return Call("forget", {"query": intent.slots["text"]})
    gone = [str(hit["text"]).strip() for hit in _items(results[-1].output, "forgotten")]
    if not gone:
        return Say(reply("not_forgotten", language))
    return Say(reply("forgotten", language, lines=_lines(gone)))


def _list_devices(results: Sequence[Result], language: str) -> Step:
    if not results:
        return Call("get_state", {"limit": DEVICES_LIMIT})
    devices = read_devices(results[-1].output)
    if not devices:
        return Say(reply("no_states", language))
    return Say(reply("state_list", language, lines=_lines([_told(each) for each in devices])))


def _device_state(intent: Intent, results: Sequence[Result], language: str, tools: Collection[str]) -> Step:
    states = [each for each in results if each.tool == "get_state"]
    if not states:
        return Call("get_state", {"limit": DEVICES_LIMIT})
    device = find(read_devices(states[-1].output), intent.slots["name"])
    if device is not None:
        return Say(reply("state", language, name=device.name, state=device.shown))
    # No device of that name: it may be something that was told.
    if "memory_search" in tools:
        return _recall(Intent("Recall", intent.language, intent.slots), results, language)
    return Say(reply("state_unknown", language, name=intent.slots["name"]))


def _command_device(intent: Intent, results: Sequence[Result], language: str, tools: Collection[str]) -> Step:
    states = [each for each in results if each.tool == "get_state"]
    if not states:
        return Call("get_state", {"limit": DEVICES_LIMIT})
    device = find(read_devices(states[-1].output), intent.slots["name"])
    if device is None:
        return Say(reply("state_unknown", language, name=intent.slots["name"]))
    if results[-1].tool == "call_service":
        return Say(reply(_DONE[intent.name], language, name=device.name))
    if "call_service" not in tools:
        return Say(reply("tool_missing", language, tool="call_service"))
    data = {"entity_id": device.entity_id}
    return Call("call_service", {"domain": device.domain, "service": _SERVICES[intent.name], "data": data})


def _items(output: str, key: str) -> list[dict[str, Any]]:
    """Return a list of a tool's JSON output, which may stand between markers that quote it as untrusted."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        found = json.loads(output[begin : end + 1]).get(key, [])
    except (ValueError, AttributeError):
        return []
    return [item for item in found if isinstance(item, dict) and "text" in item]


def _told(device: Device) -> str:
    return f"{device.name}: {device.shown}"


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
