from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from web.home import cards

NOW_MS = 1_000_000_000_000.0
HOUR_MS = 3_600_000


def told(ms: float) -> str:
    return str(int(ms))


def session(key: str = "agent:main:main", **more: Any) -> dict[str, Any]:
    known = {"classification": "main", "isMain": True, "title": None, "lastChannel": None, "updatedAt": 2}
    return {"key": key, "lastInteractionAt": 1, **known, **more}


def said(*items: str) -> list[dict[str, str]]:
    roles = {"u": "user", "a": "assistant", "t": "toolResult"}
    return [{"role": roles[item[0]], "text": item[2:]} for item in items]


@pytest.mark.parametrize(
    ("items", "row"),
    [
        (
            ("u When is it due?", "t {}", "a **In May.**\n\nMore.", "a Good morning."),
            ("When is it due?", "In May.", "1"),
        ),
        (("u Hello", "a Hi", "u And now?", "a # Now\nyes"), ("And now?", "Now", "1")),
    ],
)
def test_an_answer_is_told_with_the_question_it_answers(items: tuple[str, ...], row: tuple[str, str, str]) -> None:
    [found] = cards.answers(
        [session()], [{"key": "agent:main:main", "items": said(*items)}], {}, told, lambda name: False
    )

    assert (found["title"], found["text"], found["when"]) == row


def test_a_conversation_without_an_answer_is_left_out() -> None:
    previews = [{"key": "agent:main:main", "items": said("u Anybody?")}]

    assert cards.answers([session()], previews, {}, told, lambda name: False) == []


def test_an_answer_of_an_automation_has_its_name_and_icon() -> None:
    key = "agent:main:cron:briefing"
    run = session(key, classification="cron", isMain=False, title="Tell me what matters")

    [found] = cards.answers(
        [run], [{"key": key, "items": said("a Dry today.")}], {"briefing": "Morning briefing"}, told, lambda name: False
    )

    assert (found["title"], found["icon"], found["when"]) == ("Morning briefing", "zap", "2")


def test_what_comes_next_is_in_order_and_no_further_than_the_day_after() -> None:
    at = dt.datetime.fromtimestamp((NOW_MS + 2 * HOUR_MS) / 1000, dt.UTC).isoformat()
    automations = [
        {"id": "evening", "alias": "Evening", "state": "on", "next_run": at},
        {"id": "off", "alias": "Off", "state": "off", "next_run": at},
    ]
    jobs = [
        {"id": id, "name": id, "schedule": {"kind": "at"}, "payload": {"kind": "message", "text": text}}
        | {"state": {"nextRunAtMs": NOW_MS + hours * HOUR_MS}}
        for id, text, hours in (("get_up", "Get up", 1), ("books", "Return the books", 40))
    ]

    found = cards.next_up(jobs, automations, NOW_MS, told)

    assert [(row["title"], row["icon"], row["reminder"]) for row in found] == [
        ("Get up", "bell", "get_up"),
        ("Evening", "zap", None),
    ]


@pytest.mark.parametrize(
    ("provider", "state", "tone"),
    [
        ({}, "Healthy", "good"),
        ({"obstacle": "no key"}, "Does not answer", "danger"),
        ({"health": {"aside": True, "error": "refused"}}, "Does not answer", "danger"),
        ({"health": {"aside": False, "error": "timed out"}}, "Had trouble", "warn"),
        ({"api": "offline"}, "Offline", ""),
    ],
)
def test_the_model_says_how_it_is(provider: dict[str, Any], state: str, tone: str) -> None:
    known = {"name": "claude", "api": "anthropic", "obstacle": None, "health": None, **provider}
    status = {"resolved": {"ref": "claude/sonnet"}, "providers": [known], "fallbacks": ["claude/haiku"]}

    found = cards.model(status, {"claude/haiku": "Haiku"})

    assert (found["state"], found["tone"], found["then"]) == (state, tone, ["Haiku"])


def test_a_week_is_told_in_money_or_in_tokens_where_nothing_has_a_price() -> None:
    row = {"day": "2026-11-24", "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25}
    today = dt.date(2026, 11, 24)

    priced = cards.week([row], [{"per": "day", "only": None, "limits": {"cost_usd": 1.5}}], today)
    free = cards.week([{**row, "cost_usd": None}], [], today)

    assert (priced["priced"], priced["values"], priced["limit"]) == (True, [0, 0, 0, 0, 0, 0, 0.25], 1.5)
    assert (free["priced"], free["total"], free["limit"]) == (False, 15, None)


def test_the_hub_picks_devices_until_a_person_does() -> None:
    def entity(id: str, **more: Any) -> dict[str, Any]:
        known = {"hidden": False, "disabled": False, "entity_category": None, "device_class": None}
        return {"entity_id": id, "domain": id.partition(".")[0], "commands": ["turn_on"], **known, **more}

    home = [
        entity("light.a"),
        entity("light.b", hidden=True),
        entity("sensor.power", commands=[], device_class="power"),
        entity("sensor.kitchen", commands=[], device_class="temperature"),
        entity("lock.door"),
    ]

    picked = [each["entity_id"] for each in cards.favourites(home, ())]
    chosen = [each["entity_id"] for each in cards.favourites(home, ("sensor.power", "light.gone", "light.b"))]

    assert picked == ["light.a", "lock.door", "sensor.kitchen"]
    assert chosen == ["sensor.power", "light.b"]


def test_the_latest_answer_is_first_whatever_happened_since_in_its_conversation() -> None:
    keys = ("agent:main:main", "agent:main:webchat:direct:a")
    sessions = [session(keys[0], lastInteractionAt=10, updatedAt=99), session(keys[1], lastInteractionAt=20)]
    previews = [{"key": key, "items": said("u When?", f"a {key}")} for key in keys]

    found = cards.answers(sessions, previews, {}, told, lambda name: False)

    assert [each["when"] for each in found] == ["20", "10"]
