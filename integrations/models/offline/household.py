"""Acts on the home and answers questions about it: the call of its tools, and the reply from their results. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from integrations.models.offline.coming_days import days_meant, events, forecast
from integrations.models.offline.devices import Device, find, measure_of, read_devices, search_for
from integrations.models.offline.entries import lines
from integrations.models.offline.quantities import value_of
from integrations.models.offline.recognizer import CHINESE, ENGLISH, RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_json

LOOK, ACT, WHY = "get_state", "home", "why"
LIMIT = 100
TOLD_LIMIT = 15
"""Entities that an answer names."""
VERBS = {
    "TurnOn": ("turn_on", "turned_on"),
    "TurnOff": ("turn_off", "turned_off"),
    "Toggle": ("toggle", "toggled"),
    "Open": ("open", "device_opened"),
    "Close": ("close", "device_closed"),
    "Lock": ("lock", "device_locked"),
    "Unlock": ("unlock", "device_unlocked"),
}
"""What is done with a device, and the reply that says so."""
_KINDS = {"brightness_pct": ("lights", "灯"), "temperature": ("thermostat", "空调")}
"""What a field that is set is about, in both languages."""
_REPLIES = dict(VERBS.values())


def act(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    """Do something with the home, then say what was done."""
    slots = intent.slots
    verb, done = VERBS.get(intent.name, (slots.get("do", "set"), _REPLIES.get(slots.get("do", "set"), "device_done")))
    name = _name(slots, language)
    if not results:
        arguments: dict[str, Any] = {"do": verb, "name": name}
        if verb == "play":
            media = {"media_content_id": slots["value"], "media_content_type": "music"}
            arguments["values"] = media
        elif "value" in slots:
            arguments["values"] = _values(slots)
        return Call(ACT, arguments)
    told = read_json(results[-1].output)
    names = told.get("names")
    shown = _joined([f"{each}" for each in names], told.get("more"), language) if isinstance(names, list) else name
    if "value" in slots and verb == "set":
        return Say(reply("device_set", language, name=shown, value=value_of(slots["value"])))
    return Say(reply(done, language, name=shown))


def _name(slots: dict[str, str], language: str) -> str:
    """Return what is meant, with the kind that the sentence says beside it."""
    name, kind = slots.get("name", ""), slots.get("kind", "")
    field = slots.get("field", "")
    if field in _KINDS and "here" not in name and "这里" not in name:
        kind = _KINDS[field][language == CHINESE]
    if not kind or kind in name:
        return name
    return f"{name} {kind}".strip() if language == ENGLISH else f"{name}{kind}"


def _values(slots: dict[str, str]) -> dict[str, Any]:
    value, field = value_of(slots["value"]), slots.get("field", "value")
    number = re.match(r"-?\d+(?:\.\d+)?", value)
    if field in ("value", "color") or number is None:
        return {"value": value}
    amount = float(number[0])
    return {field: amount / 100 if field == "volume_level" else amount}


def ask(
    intent: RecognizedIntent,
    results: Sequence[StepResult],
    language: str,
    now: datetime,
    said: str,
    *,
    is_in_room: bool = False,
) -> Step | None:
    """Answer a question about the home; None when nothing of the home is meant.

    Args:
        is_in_room: Whether the tools know the room of the speaker, which they look at first.
    """
    slots = {"how": "is" if "state" in intent.slots else "tell", **intent.slots}
    looked = [each for each in results if each.tool == LOOK]
    search = _search(slots, language, said, is_bare="how" not in intent.slots)
    about: dict[str, Any] = {"domain": slots["domain"]} if "domain" in slots else {}
    if is_in_room and slots["how"] in _OF_SEVERAL and not _HERE.search(search):
        search = f"all {search}" if language == ENGLISH else f"所有{search}"  # "which lights" are those of the home
    about |= {"search": search} if "domain" not in slots or slots["name"] not in _DEFAULTS else {}
    about |= {"until": days_meant(slots["day"], now.date())[-1].isoformat()} if "day" in slots else {}
    state = {"state": slots["state"]} if "state" in slots else {}
    if not looked:
        return Call(LOOK, {**about, **state, "limit": LIMIT})
    found = read_json(looked[-1].output)
    devices, of = read_devices(looked[-1].output), int(found.get("looked_at") or 0)
    how = slots["how"]
    if how == "is":
        if len(looked) == 1 and not devices and of:
            return Call(LOOK, {**about, "limit": LIMIT})
        device = find([each for each in devices if each.domain != "sensor"] or devices, slots["name"], slots["state"])
        if device is None:
            return None
        key = "state_yes" if len(looked) == 1 else "state_no"
        return Say(reply(key, language, name=device.name, state=device.state_text(language)))
    if "day" in slots:
        told = (forecast if how == "forecast" else events)(devices, slots, language, now)
        return Say(told) if told is not None else None
    if how in _OF_SEVERAL:
        return _several(how, devices, of, int(found.get("more") or 0), slots, language)
    measure = measure_of(slots.get("measure", "" if "how" in intent.slots else said))
    return _told(how, _measuring(devices, measure), slots, language, now)


_OF_SEVERAL = ("which", "any", "many", "all")
_HERE = re.compile(r"\bhere\b|这里|这儿|这边")
_AROUND = {
    ENGLISH: re.compile(
        r"^(?:on|off|the|my)\s+(?:the\s+|my\s+)?|\s+(?:not\b.*|(?:(?:suddenly|just|always|still|ever|never)\s+)*"
        r"(?:(?:go|goes|going|gone|went|turn|turned|turning|switch|switched|come|came|stay|stayed|left)\s+)?"
        r"(?:on|off|open|opened|close|closed|lock|locked|unlock|unlocked|run|running|ran|start|started|trigger|triggered"
        r"|fire|fired|work|worked|happen|happened|change|changed|up|down)\b.*)$",
        re.IGNORECASE,
    ),
    CHINESE: re.compile(r"今天|昨天|昨晚|今晚|早上|早晨|上午|中午|下午|晚上|夜里|刚才|刚刚|突然|自己|又|没有|没"),
}
"""What is around the name of a thing in a question of why."""
_AUTOMATION = re.compile(r"\bautomation\b|自动化", re.IGNORECASE)
_NOT = re.compile(r"\bnot\b|n't\b|没|未", re.IGNORECASE)
_DEFAULTS = frozenset({"weather", "sun", "calendar", "天气", "太阳", "日历"})


def _search(slots: dict[str, str], language: str, said: str, *, is_bare: bool) -> str:
    between = " " if language == ENGLISH else ""
    name = between.join(slots[key] for key in ("place_name", "name", "kind") if slots.get(key))
    if "measure" in slots or is_bare:
        name = search_for(name, slots.get("measure", said))
    return f"{slots['place']} {name}" if slots.get("place") else name


def tell(results: Sequence[StepResult], query: str, language: str, now: datetime) -> Step | None:
    """Tell what the home has of a question that memory knows nothing of; None when it has nothing."""
    looked = [each for each in results if each.tool == LOOK]
    if not looked:
        return Call(LOOK, {"search": query[:200], "limit": LIMIT})
    return _told("tell", read_devices(looked[-1].output), {"name": query}, language, now)


def why(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step | None:
    """Tell why something happened, or did not; None when nothing of the home is meant."""
    query = intent.slots["query"]
    looked = [each for each in results if each.tool == LOOK]
    told = [each for each in results if each.tool == WHY]
    if not looked:
        return Call(LOOK, {"search": _AROUND[language].sub("", query).strip() or query, "limit": LIMIT})
    if not told:
        found = read_devices(looked[-1].output)
        if not found:
            return None
        is_automation = _AUTOMATION.search(query) is not None
        best = next((each for each in found if (each.domain == "automation") == is_automation), found[0])
        return Call(WHY, {"about": best.entity_id})
    facts = read_json(told[-1].output)
    happenings = [each for each in facts.get("happenings") or () if isinstance(each, dict)]
    name = f"{facts.get('name')}"
    if not happenings:
        waits = ", ".join(map(str, facts.get("waits_for") or ()))
        return Say(reply("why_never" if waits else "why_unknown", language, name=name, triggers=waits))
    wanted = _NOT.search(f"{intent.slots.get('not', '')} {query}") is not None
    chosen = next((each for each in happenings if (each.get("outcome") == "did_not_run") == wanted), happenings[0])
    return Say("\n".join(_reasons(name, chosen, language)))


def _reasons(name: str, told: dict[str, Any], language: str) -> Iterator[str]:
    """Yield what happened, what led to it, and the conditions that did not hold."""
    yield reply("why_what", language, time=f"{told.get('at', '')}"[11:16], what=f"{told.get('what', name)}")
    causes = [f"{each.get('what')}" for each in told.get("caused_by") or () if each.get("what") != told.get("what")]
    if causes:
        yield reply("why_because", language, causes=" → ".join(causes))
    if told.get("by"):
        yield reply("why_by", language, name=f"{told['by']}")
    failed = [each for each in told.get("conditions") or () if each.get("held") is False]
    for each in failed:
        what = ": ".join(f"{part}" for part in (each.get("what"), each.get("reason")) if part)
        values = each.get("values")
        known = ", ".join(f"{key} = {value}" for key, value in values.items()) if isinstance(values, dict) else ""
        yield reply("why_failed", language, condition=f"{what} ({known})" if known else what)
    if told.get("outcome") == "did_not_run" and not failed and told.get("reason"):
        yield reply("why_not", language, reason=f"{told['reason']}")
    elif told.get("outcome") == "failed" and told.get("reason"):
        yield reply("why_error", language, reason=f"{told['reason']}")


def _several(
    how: str, devices: Sequence[Device], of: int, more: int, slots: dict[str, str], language: str
) -> Step | None:
    """Answer which, whether any, how many or whether all are in a state."""
    count = len(devices) + more
    if not of:
        return None
    shown = _joined(
        [_with_area(each, language) for each in devices[:TOLD_LIMIT]], count - len(devices[:TOLD_LIMIT]), language
    )
    if how == "all":
        key = "state_all" if count == of else "state_not_all"
        return Say(reply(key, language, count=str(count), of=str(of), names=shown or reply("none", language)))
    if how == "many":
        return Say(reply("state_count", language, count=str(count), of=str(of), names=shown or reply("none", language)))
    if not count:
        return Say(reply("state_none", language))
    return Say(reply("state_some" if how == "any" else "state_which", language, names=shown, count=str(count)))


def _measuring(devices: list[Device], measure: str) -> list[Device]:
    """Return the devices that measure something, where some do."""
    key = f"current_{measure}"
    return [
        each
        for each in devices
        if measure and (each.attributes.get("device_class") == measure or key in each.attributes)
    ] or devices


def _told(how: str, devices: Sequence[Device], slots: dict[str, str], language: str, now: datetime) -> Step | None:
    if not devices:
        return Say(reply("nothing_plays", language)) if how == "playing" else None
    if how in ("sunset", "sunrise", "sun"):
        sun = devices[0]
        time = _time(sun.attributes.get("next_rising" if how == "sunrise" else "next_setting"), now)
        if how == "sun" or time is None:
            return Say(reply("sun_up" if sun.state == "above_horizon" else "sun_down", language))
        return Say(reply(how, language, time=time))
    if how == "calendar":
        events = [each for each in devices if each.attributes.get("message")]
        told = [_event(each, now, language) for each in events]
        return Say(reply("calendar_next", language, lines=lines(told)) if told else reply("calendar_empty", language))
    if how == "playing":
        return Say(
            reply("state_list_short", language, lines=lines(each.told(language) for each in devices[:TOLD_LIMIT]))
        )
    if how == "weather":
        return Say(reply("state", language, name=devices[0].name, state=devices[0].now(language)))
    best = find(devices, slots["name"], "")
    kinds = {each.domain for each in devices}
    if best is not None and (len(devices) == 1 or slots.get("measure") or len(kinds) > 1 or len(devices) > TOLD_LIMIT):
        return Say(reply("state", language, name=best.name, state=best.now(language)))
    return Say(reply("state_list_short", language, lines=lines(each.told(language) for each in devices[:TOLD_LIMIT])))


def _event(device: Device, now: datetime, language: str) -> str:
    start = f"{device.attributes.get('start_time', '')}"[:16]
    return f"{device.attributes['message']}: {start}".rstrip(": ")


def _time(value: Any, now: datetime) -> str | None:
    try:
        moment = datetime.fromisoformat(f"{value}")
    except ValueError:
        return None
    return f"{moment.astimezone(now.tzinfo):%H:%M}"


def _with_area(device: Device, language: str) -> str:
    if not device.area or device.area.casefold() in device.name.casefold():
        return device.name
    return f"{device.name} ({device.area})" if language == ENGLISH else f"{device.name}（{device.area}）"


def _joined(names: Sequence[str], more: Any, language: str) -> str:
    shown = ("、" if language == CHINESE else ", ").join(names[:TOLD_LIMIT])
    left = len(names[TOLD_LIMIT:]) + (more if isinstance(more, int) else 0)
    return f"{shown} {reply('and_more', language, count=str(left))}" if left else shown
