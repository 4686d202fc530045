from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from integrations.models.offline.provider import OfflineProvider
from tests.integrations.models.offline.test_provider import Talk

NOW = datetime(2026, 11, 21, 15, 20, tzinfo=UTC)
CAKE = {"id": "cake", "name": "Cake", "text": "take the cake out", "next": "2026-11-21T15:40:00+00:00"}
ANNA = {"id": "anna", "name": "Anna", "text": "call Anna", "next": "2026-11-22T09:00:00+00:00"}


def talk(**answers: Any) -> Talk:
    return Talk(OfflineProvider("offline", lambda: NOW), ("schedule",), **answers)


async def test_a_reminder_is_set_through_the_tool_and_told_with_its_time() -> None:
    conversation = talk(schedule={"added": CAKE})

    answer = await conversation.say("remind me in 20 minutes to take the cake out")

    assert conversation.calls == [("schedule", {"action": "add", "at": "1200s", "text": "take the cake out"})]
    assert answer == "I'll remind you today at 15:40: take the cake out"


async def test_a_reminder_is_set_in_chinese() -> None:
    conversation = talk(schedule={"added": ANNA})

    answer = await conversation.say("明天早上九点提醒我打电话")

    assert conversation.calls == [("schedule", {"action": "add", "at": "2026-11-22T09:00", "text": "打电话"})]
    assert answer == "我会明天09:00提醒你：打电话"


async def test_a_reminder_that_repeats_says_so() -> None:
    conversation = talk(schedule={"added": ANNA})

    answer = await conversation.say("remind me every day at 9 to call Anna")

    assert conversation.calls == [("schedule", {"action": "add", "cron": "0 9 * * *", "text": "call Anna"})]
    assert "keep reminding" in answer


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("set a timer for 5 minutes", {"at": "300s", "text": "The timer has ended."}),
        ("set a pizza timer for 10 minutes", {"at": "600s", "text": "The timer for pizza has ended."}),
        ("设一个5分钟的计时器", {"at": "300s", "text": "计时结束。"}),
        ("set an alarm for 7", {"at": "2026-11-21T19:00", "text": "It is time."}),
    ],
)
async def test_timers_and_alarms_are_reminders_too(sentence: str, arguments: dict[str, str]) -> None:
    conversation = talk(schedule={"added": CAKE})

    await conversation.say(sentence)

    assert conversation.calls == [("schedule", {"action": "add", **arguments})]


@pytest.mark.parametrize(
    ("sentence", "at", "text"),
    [
        ("wake me at 7", "2026-11-22T07:00", "It is time."),
        ("please wake us up at 7:30", "2026-11-22T07:30", "It is time."),
        ("remind me at 7 to get up", "2026-11-22T07:00", "get up"),
        ("wake me at 7 in the evening", "2026-11-21T19:00", "It is time."),
        ("wake me at 5 pm", "2026-11-21T17:00", "It is time."),
        ("remind me at 7 to feed the cat", "2026-11-21T19:00", "feed the cat"),
        ("7点叫醒我", "2026-11-22T07:00", "时间到了。"),
        ("七点叫我起床", "2026-11-22T07:00", "起床"),
        ("晚上七点叫醒我", "2026-11-21T19:00", "时间到了。"),
    ],
)
async def test_who_is_woken_in_the_afternoon_is_woken_the_next_morning(sentence: str, at: str, text: str) -> None:
    conversation = talk(schedule={"added": {"text": text, "next": f"{at}:00+00:00"}})

    answer = await conversation.say(sentence)

    assert conversation.calls == [("schedule", {"action": "add", "at": at, "text": text})]
    day = ("tomorrow", "明天") if at.startswith("2026-11-22") else ("today", "今天")
    assert any(each in answer for each in day)
    assert at[11:] in answer


async def test_a_reminder_without_a_time_is_asked_back() -> None:
    conversation = talk()

    assert "in 20 minutes to buy milk" in await conversation.say("remind me to buy milk")
    assert conversation.calls == []


async def test_what_is_set_is_listed() -> None:
    conversation = talk(schedule={"schedules": [CAKE, ANNA]})

    answer = await conversation.say("what reminders do I have?")

    assert answer == "Reminders and timers:\n- take the cake out: today at 15:40\n- call Anna: tomorrow at 09:00"
    assert await talk(schedule={"schedules": []}).say("list my timers") == "No reminders or timers are set."


async def test_the_reminder_that_is_meant_is_cancelled() -> None:
    conversation = talk(schedule={"schedules": [CAKE, ANNA], "removed": ANNA})

    answer = await conversation.say("cancel the reminder to call Anna")

    assert conversation.calls[-1] == ("schedule", {"action": "remove", "id": "anna"})
    assert answer == "Cancelled: call Anna"


async def test_nothing_is_cancelled_when_it_is_not_plain_which() -> None:
    several = talk(schedule={"schedules": [CAKE, ANNA]})
    other = talk(schedule={"schedules": [CAKE]})

    assert "say which one" in await several.say("cancel the timer")
    assert "no reminder" in await other.say("cancel the reminder about the dentist")
    assert [call[1]["action"] for call in several.calls + other.calls] == ["list", "list"]


async def test_a_strange_answer_of_the_tool_breaks_nothing() -> None:
    for output in ("", "not json", '{"schedules": 3}', '{"schedules": [1]}', "[]"):
        assert await talk(schedule=output).say("list my timers") == "No reminders or timers are set."
