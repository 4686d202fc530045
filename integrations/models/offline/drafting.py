"""Automations without a language model: the sentence is read as the reminders and commands of the chat are. Pure.

It answers the question of `hub.automation.services.drafting` as a language model would: with one JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from hub.automation.contract import DRAFT_ENTITY
from integrations.models.offline.devices import Device, find
from integrations.models.offline.recognizer import RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.time_phrase import ParsedTime
from integrations.models.offline.when import find_time

ALIAS_LIMIT = 100

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CRON = re.compile(r"(\d+) (\d+) \* \* ([\d,*-]+)")
_SUN = re.compile(
    r"(?:(?:every day |daily )?(?:at|when) (?:the )?(?:(sunset|sun sets|dusk)|(?:sunrise|sun rises|dawn))"
    r"|每天(?:在)?(日落|天黑)(?:时|的时候)?|每天(?:在)?(?:日出|天亮)(?:时|的时候)?"
    r"|(日落|天黑)(?:时|的时候)|(?:日出|天亮)(?:时|的时候))[,，]?",
    re.IGNORECASE,
)
_WHEN_IT = re.compile(
    r"\A(?:when(?:ever)?|if) (?P<name>.+?) (?:(?P<on>turns on|is turned on|goes on|opens)|turns off|is turned off"
    r"|goes off|closes)[,:]? (?:then )?(?P<rest>.+)\Z"
    r"|\A(?:当|每当|如果)(?P<name2>.+?)(?:(?P<on2>打开|开启|开)|关闭|关掉|关)(?:时|的时候|了)?[,，]?(?:就)?(?P<rest2>.+)\Z",
    re.IGNORECASE,
)
_TO_SAY = re.compile(
    r"(?:please )?(?:say|tell (?:me|us|everyone) (?:to|that)|remind (?:me|us)(?: to| that| of)?|send me"
    r"|notify me(?: that)?)\b"
    r"|(?:请)?(?:提醒我们?(?:要)?|说)",
    re.IGNORECASE,
)
_TO_ASK = re.compile(
    r"(?:please )?(?:tell|ask|check|look|summari[sz]e|find|give|show|write|read|search|brief|report|what|how|who|is"
    r"|are)\b"
    r"|(?:请)?(?:告诉|检查|看看|总结|查|找|给|写|念|搜索|汇报)",
    re.IGNORECASE,
)
_A_TIME = re.compile(r"\d{1,2}[:点]\d?|\bat \d|\d ?[ap]m\b|(?:every|each) \w+day", re.IGNORECASE)
"""What is left of a time that was not wholly understood."""
_SERVICES = {
    "TurnOn": "homeassistant.turn_on",
    "TurnOff": "homeassistant.turn_off",
    "Toggle": "homeassistant.toggle",
    "Open": "cover.open_cover",
    "Close": "cover.close_cover",
    "Lock": "lock.lock",
    "Unlock": "lock.unlock",
}

Recognize = Callable[[str], RecognizedIntent | None]


def answer_draft(system: str, said: str, now: datetime, language: str, recognize: Recognize) -> str:
    """Return an automation as JSON; a sentence that says so when it is not understood.

    Args:
        system: Names the entities of the home, one a line.
        now: Local time.
        recognize: Reads a command to a device.
    """
    entities = [Device(id, name, "") for id, name in DRAFT_ENTITY.findall(system)]
    text = " ".join(said.split()).rstrip(" .!。！")
    found = _trigger(text, now, entities)
    if found is None:
        return reply("draft_unknown", language)
    trigger, rest = found
    action = None if _A_TIME.search(rest) else _action(rest, entities, recognize)
    if action is None:
        return reply("draft_unknown", language)
    alias = text[:ALIAS_LIMIT].rstrip()
    drafted = {"alias": alias[:1].upper() + alias[1:], "triggers": [trigger], "actions": [action]}
    return json.dumps(drafted, ensure_ascii=False)


def _trigger(text: str, now: datetime, entities: Sequence[Device]) -> tuple[dict[str, Any], str] | None:
    if (at_sun := _SUN.search(text)) is not None:
        event = "sunset" if any(at_sun.groups()) else "sunrise"
        return {"trigger": "sun", "event": event}, _tidy(f"{text[: at_sun.start()]} {text[at_sun.end() :]}")
    if (changes := _WHEN_IT.match(text)) is not None:
        name, rest = changes["name"] or changes["name2"], changes["rest"] or changes["rest2"]
        device = _named(entities, name)
        if device is None:
            return None
        turned = "on" if changes["on"] or changes["on2"] else "off"
        states = {"cover": {"on": "open", "off": "closed"}, "lock": {"on": "unlocked", "off": "locked"}}
        to = states.get(device.domain, {}).get(turned, turned)
        return {"trigger": "state", "entity_id": device.entity_id, "to": to}, _tidy(rest)
    when = find_time(text, now)
    return None if when is None else (_of_time(when[0], now), _tidy(when[1]))


def _of_time(when: ParsedTime, now: datetime) -> dict[str, Any]:
    if when.kind == "every":
        seconds = int(float(when.value.removesuffix("s")))
        return {"trigger": "every", "every": f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"}
    if when.kind == "at":
        later = re.fullmatch(r"(\d+)s", when.value)
        moment = now + timedelta(seconds=int(later[1])) if later else datetime.fromisoformat(when.value)
        return {"trigger": "at", "at": f"{moment:%Y-%m-%d %H:%M}"}
    daily = _CRON.fullmatch(when.value)
    if daily is None:
        return {"trigger": "cron", "expression": when.value}
    minute, hour, days = daily.groups()
    found: dict[str, Any] = {"trigger": "time", "at": f"{int(hour):02}:{int(minute):02}"}
    return found if days == "*" else found | {"weekday": _weekdays(days)}


def _weekdays(days: str) -> list[str]:
    found: list[str] = []
    for part in days.split(","):
        first, _, last = part.partition("-")
        found += [_DAYS[day] for day in range(int(first), int(last or first) + 1)]
    return list(dict.fromkeys(found))


def _action(rest: str, entities: Sequence[Device], recognize: Recognize) -> dict[str, Any] | None:
    intent = recognize(rest)
    if intent is not None and intent.name in _SERVICES:
        device = _named(entities, intent.slots["name"])
        if device is not None:
            name = _SERVICES[intent.name]
            if device.domain == "cover" and intent.name in ("TurnOn", "TurnOff"):
                name = _SERVICES["Open" if intent.name == "TurnOn" else "Close"]
            return {"action": name, "target": {"entity_id": device.entity_id}}
    if (to_say := _TO_SAY.match(rest)) is not None:
        words = _tidy(rest[to_say.end() :])
        return {"action": "notify.notify", "data": {"message": words[:1].upper() + words[1:]}} if words else None
    if _TO_ASK.match(rest):
        return {"action": "agent.run", "data": {"message": rest[:1].upper() + rest[1:], "announce": "last"}}
    return None


def _named(entities: Sequence[Device], name: str) -> Device | None:
    """Return the entity of a name; unlike a search for devices, none is better than another one."""
    return find([each for each in entities if find([each], name) is each and _shares(each, name)], name)


def _shares(device: Device, name: str) -> bool:
    return bool(_words(name)) and _words(name) <= _words(device.name) | _words(device.entity_id.partition(".")[2])


def _words(text: str) -> set[str]:
    found = re.findall(r"[a-z0-9]+|[\u3400-\u9fff]", text.casefold().replace("_", " "))
    return set(found) - {"the", "a", "an", "my", "的"}


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,，、.。!！:：")
