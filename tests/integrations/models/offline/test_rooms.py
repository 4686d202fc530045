"""Sentences that are spoken in a kitchen without any model in reach: timers, alarms, announcements, and the room."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.entities.description import EntityDescription
from tests.voice.kit import Kiosk, VoiceHome

ENGLISH = [
    ("set a timer for five minutes", "5 minutes, starting now."),
    ("set a pizza timer for 12 minutes", "pizza timer, 12 minutes, starting now."),
    ("how much time is left on the pizza timer", "pizza timer: 12 minutes left."),
    ("add 2 minutes to the pizza timer", "pizza timer: 14 minutes left."),
    ("take 1 minute off the pizza timer", "pizza timer: 13 minutes left."),
    ("pause the timer", "Which one do you mean: 5-minute timer (Kitchen, 5 minutes), pizza timer (Kitchen, "
     "13 minutes)?"),
    ("cancel the 5 minute timer", "Cancelled: 5-minute timer"),
    ("pause the timer", "Paused: pizza timer."),
    ("what timers are there", "pizza timer: paused, 13 minutes left."),
    ("resume the pizza timer", "Running again: pizza timer."),
    ("add 2 minutes", "pizza timer: 15 minutes left."),
    ("how much time is left", "pizza timer: 15 minutes left."),
    ("cancel the egg timer", "No such timer is running."),
    ("cancel the pizza timer", "Cancelled: pizza timer"),
    ("what timers are there", "No timers are running."),
    ("wake me at 7", "Alarm set for today at 07:00."),
    ("cancel the alarm", "Cancelled: alarm"),
    ("set an alarm for 6:30", "Alarm set for today at 06:30."),
    ("cancel all timers", "Cancelled: alarm"),
    ("remind me in 20 minutes to check the oven", "Alarm set for today at TIME."),
    ("cancel the alarm", "Cancelled: check the oven alarm"),
    ("wake me every weekday at seven", "Alarm set for every weekday at 07:00; the next is today at 07:00."),
    ("what alarms are there", "alarm every weekday at 07:00; the next is today at 07:00."),
    ("skip the next alarm", "alarm: left out once; the next is tomorrow at 07:00."),
    ("change the alarm to every day at 6:30", "alarm: today at 06:30."),
    ("turn off the alarm", "Paused: alarm."),
    ("what alarms are there", "alarm every day at 06:30: off."),
    ("turn on the alarm again", "Running again: alarm."),
    ("snooze", "No such timer is running."),
    ("cancel the alarm", "Cancelled: alarm"),
    ("announce that dinner is ready", "Said in: Bedroom, Kitchen."),
    ("tell everyone in the bedroom dinner is ready", "Said in: Bedroom."),
    ("tell everyone in the attic that dinner is ready", "Nothing speaks in attic. It does in: Bedroom, Kitchen."),
    ("turn on the light", "Lamp is being turned on."),
    ("purple elephants", "Sorry, I did not understand that."),
]  # fmt: skip
CHINESE = [
    ("设一个五分钟的计时器", "5分钟，现在开始。"),
    ("定一个十二分钟的披萨计时器", "披萨计时器，12分钟，现在开始。"),
    ("披萨计时器还有多久", "披萨计时器：还剩12分钟。"),
    ("给披萨计时器加两分钟", "披萨计时器：还剩14分钟。"),
    ("暂停披萨计时器", "已暂停：披萨计时器。"),
    ("继续披萨计时器", "已继续：披萨计时器。"),
    ("取消披萨计时器", "已取消：披萨计时器"),
    ("取消所有计时器", "已取消：5分钟计时器"),
    ("有哪些计时器", "没有计时器在走。"),
    ("明天早上七点叫醒我", "闹钟定在明天07:00。"),
    ("取消闹钟", "已取消：闹钟"),
    ("每个工作日早上七点叫醒我", "闹钟定在每个工作日07:00，下一次是今天07:00。"),
    ("有哪些闹钟", "闹钟，每个工作日07:00，下一次是今天07:00。"),
    ("跳过下一个闹钟", "闹钟：跳过一次，下一次是明天07:00。"),
    ("把闹钟改到每天六点半", "闹钟：今天06:30。"),
    ("停用闹钟", "已暂停：闹钟。"),
    ("取消闹钟", "已取消：闹钟"),
    ("告诉大家吃饭了", "已经在这些地方说了：Bedroom、Kitchen。"),
    ("通知Bedroom里的人吃饭了", "已经在这些地方说了：Bedroom。"),
    ("开灯", "正在打开Lamp。"),
    ("紫色大象", "对不起，我没有听懂。"),
]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[VoiceHome]:
    home = VoiceHome(tmp_path, "http://127.0.0.1:9", {"models": {
        "default": "offline/homarus", "providers": {"voice": {"api": "scripted_voice"}},
    }}, "offline", "home")  # fmt: skip
    async with home:
        home.satellites.configure({"transcription_model": "voice/auto", "speech_model": "voice/auto"})
        yield home


@pytest.mark.parametrize(("language", "sentences"), [("en", ENGLISH), ("zh-CN", CHINESE)])
async def test_what_is_said_in_the_kitchen_is_done_and_answered(
    home: VoiceHome, language: str, sentences: list[tuple[str, str]]
) -> None:
    kitchen = room(home, "kitchen", language)
    room(home, "bedroom", language)
    done = [lamp(home, each) for each in ("kitchen", "bedroom")]

    answers = [(said, whole_minutes(await answer(home, kitchen, said))) for said, _ in sentences]

    assert answers == sentences
    assert done == [["turn_on"], []]


async def test_a_timer_of_a_sentence_rings_and_is_stopped_by_a_word(home: VoiceHome) -> None:
    kitchen = room(home, "kitchen", "en")

    await answer(home, kitchen, "set a pizza timer for 1 minute")
    rung = kitchen.begun
    await home.clock.advance(60)
    await home.passing(lambda: "Your pizza timer is done." in [text for _, text, *_ in home.ears.spoken])
    await home.passing(lambda: kitchen.begun > rung + 3)
    await answer(home, kitchen, "stop", is_silent=True)

    assert await answer(home, kitchen, "what timers are there") == "No timers are running."


def whole_minutes(answer: str) -> str:
    """Return an answer with its times rounded up: they run while it is spoken."""
    answer = re.sub(r"0\d:(?!00|30)\d\d", "TIME", answer)
    return re.sub(r"(\d+)( minutes|分钟)( \d+ seconds?|\d+秒)", lambda found: f"{int(found[1]) + 1}{found[2]}", answer)


def room(home: VoiceHome, id: str, language: str) -> Kiosk:
    kiosk = home.kiosk(id, name=id.capitalize(), language=language)
    area = home.entities.registry.create("area", id.capitalize()).id
    home.entities.registry.update("entity", f"assist_satellite.{id}", area_id=area)
    return kiosk


def lamp(home: VoiceHome, area: str) -> list[str]:
    """Add a lamp; return what is done with it."""
    done: list[str] = []

    async def turn_on(data: Any) -> None:
        done.append("turn_on")

    handle = home.entities.add(EntityDescription("light", f"{area} lamp", "Lamp"), {"turn_on": turn_on}, source="test")
    handle.set("off")
    home.entities.registry.update("entity", handle.entity_id, area_id=area)
    return done


async def answer(home: VoiceHome, kiosk: Kiosk, said: str, *, is_silent: bool = False) -> str:
    """Say something there, and return what is answered."""
    home.ears.hears.append(said)
    ended = len(home.satellites.turns())
    kiosk.line.wake()
    kiosk.say()
    turn = await home.turn(ended + 1)
    assert bool(turn.answer) is not is_silent, turn
    return turn.answer
