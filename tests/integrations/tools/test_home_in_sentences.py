"""Sentences to the offline assistant, in both languages, with the real tools of the home: judged by what is done."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest

from hub.core.errors import Unavailable
from hub.entities.description import EntityDescription
from hub.entities.services import EntityServices
from hub.models.contract import (
    Message,
    ModelRequest,
    Role,
    TextDelta,
    ToolCallEvent,
    ToolSpec,
    tool_result,
    user_message,
)
from integrations.models.offline.coming_days import days_meant
from integrations.models.offline.provider import OfflineProvider
from integrations.tools import home
from tests.integrations.tools.standing import Standing
from tests.integrations.tools.test_home_by_meaning import Meaning

NOW = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)
TIMER = {"id": "t", "text": "The timer for pizza has ended.", "next": "2026-05-12T12:07:30+00:00"}


class Assistant:
    """The offline assistant in a home; what is remembered and scheduled is only written down."""

    def __init__(self, standing: Standing) -> None:
        self.meant = Meaning(standing)
        self.scheduled: list[dict[str, Any]] = []
        self.sought: list[str] = []
        self._standing = standing
        self._provider = OfflineProvider("offline", lambda: NOW)

    async def say(self, text: str, room: str | None = None) -> str:
        messages = [user_message(f"[Tue 2026-05-12 12:00 UTC, voice, in {room}]\n\n{text}" if room else text)]
        while True:
            tools = tuple(
                ToolSpec(name, "", {}) for name in ("home", "get_state", "schedule", "memory_search", "remember")
            )
            request = ModelRequest(model="homarus", system="", messages=tuple(messages), tools=tools)
            events = [event async for event in self._provider.stream(request)]
            calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
            if not calls:
                return "".join(event.text for event in events if isinstance(event, TextDelta))
            for call in calls:
                output, is_error = await self._run(call.name, dict(call.arguments), room)
                messages += [Message(Role.ASSISTANT, (call,)), tool_result(call, output, is_error=is_error)]

    async def _run(self, name: str, arguments: dict[str, Any], room: str | None) -> tuple[str, bool]:
        if name == "schedule":
            self.scheduled.append(arguments)
            return str({"schedules": [TIMER], "updated": TIMER}).replace("'", '"'), False
        if name in ("memory_search", "remember"):
            self.sought.append(arguments.get("query", ""))
            return '{"hits": []}', False
        result = await self._standing.call(name, arguments, area=room)
        return result.output, result.is_error


@pytest.fixture
async def assistant(standing: Standing) -> AsyncIterator[Assistant]:
    await standing.set_up(home)
    yield Assistant(standing)
    await standing.registry.close()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("turn off everything down here except the fridge",
         {("light.ceiling", "turn_off"), ("light.diao_deng", "turn_off"), ("media_player.radio", "turn_off"),
          ("media_player.tv", "turn_off"), ("switch.all_lights", "turn_off")}),
        ("把除了冰箱以外楼下的开关都关掉", {("switch.all_lights", "turn_off")}),
        ("all the lights off please", {("light.ceiling", "turn_off"), ("light.ceiling_2", "turn_off"),
                                       ("light.diao_deng", "turn_off")}),
        ("make sure the bedroom light is off", {("light.ceiling_2", "turn_off")}),
        ("start the laundry timer for 20 minutes", {("timer.laundry", "start")}),
        ("给洗衣计时器加五分钟", set()),
        ("set guest mode", {("input_boolean.guest_mode", "turn_on")}),
        ("activate the movie scene", {("scene.movie", "turn_on")}),
        ("set the house mode to movie night", {("input_select.house_mode", "select_option")}),
        ("make it warmer", {("climate.radiator", "set_temperature")}),
        ("it's too cold in the bedroom", {("climate.radiator", "set_temperature")}),
        ("卧室太热了", {("climate.radiator", "set_temperature")}),
        ("把卧室温度调到二十二度", {("climate.radiator", "set_temperature")}),
        ("set the kitchen ceiling to half", {("light.ceiling", "turn_on")}),
        ("dim the bedroom light", {("light.ceiling_2", "turn_on")}),
        ("客厅的灯调成红色", {("light.diao_deng", "turn_on")}),
        ("pull down the blind", {("cover.blind", "close_cover")}),
        ("open the blind to 30%", {("cover.blind", "set_cover_position")}),
        ("pause the music", {("media_player.radio", "media_pause")}),
        ("next song", {("media_player.radio", "media_next_track")}),
        ("下一首", {("media_player.radio", "media_next_track")}),
        ("set the volume to 30%", {("media_player.radio", "volume_set")}),
        ("音量调到百分之三十", {("media_player.radio", "volume_set")}),
        ("turn it down", {("media_player.radio", "volume_down")}),
        ("increase the target", {("input_number.target", "increment")}),
        ("play radio one on the tv", {("media_player.tv", "play_media")}),
        ("turn on the kitchen light in chinese 厨房", set()),
        ("打开kitchen的灯", {("light.ceiling", "turn_on")}),
        ("my favourite colour is red", set()),
        ("the doctor said keep the bedroom light off", set()),
        ("is the bedroom light off", set()),
        ("turn on the ceiling", set()),
        ("unlock the back door", set()),
    ],
)  # fmt: skip
async def test_a_sentence_does_what_a_person_means(
    assistant: Assistant, sentence: str, expected: set[tuple[str, str]]
) -> None:
    answer = await assistant.say(sentence)

    assert {(entity, service) for entity, service, _ in assistant.meant.done} == expected, answer


@pytest.mark.parametrize(
    ("room", "sentence", "expected"),
    [
        ("Kitchen", "turn off the light", {("light.ceiling", "turn_off")}),
        ("Bedroom", "turn off the light", {("light.ceiling_2", "turn_off")}),
        ("Bedroom", "turn on the ceiling", {("light.ceiling_2", "turn_on")}),
        ("Kitchen", "关灯", {("light.ceiling", "turn_off")}),
        ("Kitchen", "turn off all lights", {("light.ceiling", "turn_off"), ("light.ceiling_2", "turn_off"),
                                            ("light.diao_deng", "turn_off")}),
        ("Kitchen", "turn off the bedroom light", {("light.ceiling_2", "turn_off")}),
        ("Bedroom", "it is too dark in here", {("light.ceiling_2", "turn_on")}),
        ("Bedroom", "too bright", set()),
        ("Bedroom", "it's too bright", {("light.ceiling_2", "turn_on")}),
        ("客厅", "太暗了", {("light.diao_deng", "turn_on")}),
        ("客厅", "暗一点", {("light.diao_deng", "turn_on")}),
        ("Kitchen", "turn off everything here", {("light.ceiling", "turn_off"), ("switch.fridge", "turn_off"),
                                                 ("media_player.radio", "turn_off")}),
        ("Bedroom", "close the blinds", {("cover.blind", "close_cover")}),
        ("Kitchen", "close the blinds", set()),
        ("Bedroom", "make it warmer", {("climate.radiator", "set_temperature")}),
        ("Kitchen", "make it warmer", set()),
        ("Kitchen", "pause", {("media_player.radio", "media_pause")}),
        ("客厅", "pause", {("media_player.tv", "media_pause")}),
        ("Hall", "pause", set()),
        ("Hall", "turn the volume up", set()),
        ("Hall", "turn on the light", set()),
        ("Hall", "open the garage door", set()),
        ("Bedroom", "mute the bedroom ceiling", set()),
        ("Bedroom", "activate the movie scene", {("scene.movie", "turn_on")}),
        ("Attic", "turn on the light", set()),
    ],
)  # fmt: skip
async def test_what_is_said_in_a_room_is_done_there(
    assistant: Assistant, room: str, sentence: str, expected: set[tuple[str, str]]
) -> None:
    answer = await assistant.say(sentence, room)

    assert {(entity, service) for entity, service, _ in assistant.meant.done} == expected, answer


@pytest.mark.parametrize(
    ("room", "sentence", "answer"),
    [
        ("Bedroom", "what's the temperature", "Climate is 19.5 °C."),
        ("Bedroom", "is the light on", "Yes, Ceiling is on."),
        ("客厅", "is the light on", "No, 吊灯 is off."),
        ("Kitchen", "which lights are on", "2: Ceiling (Kitchen), Ceiling (Bedroom)"),
        ("Kitchen", "哪些灯开着", "2个：Ceiling（Kitchen）、Ceiling（Bedroom）"),
        ("Hall", "turn on the light", "I find no light in Hall that can do that, only in: Bedroom, Kitchen, 客厅. "
         "Say which room."),
        ("Hall", "pause", "I find no media player in Hall that can do that. "
         'Say the room, for example "in the kitchen".'),
        ("Hall", "开灯", "Hall里没有能这样做的灯，只有这些地方有：Bedroom, Kitchen, 客厅。请说是哪个房间。"),
    ],
)  # fmt: skip
async def test_a_question_in_a_room_is_about_it(assistant: Assistant, room: str, sentence: str, answer: str) -> None:
    assert await assistant.say(sentence, room) == answer


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("is anything still on upstairs?", "Yes, 2: Radiator (Bedroom), Ceiling (Bedroom)"),
        ("which windows are open", "1: Velux (Bedroom)"),
        ("楼上有哪些窗户开着", "1个：Velux（Bedroom）"),
        ("are any windows open downstairs", "None."),
        ("how many lights are on", "2 of 3: Ceiling (Kitchen), Ceiling (Bedroom)"),
        ("are all lights on", "No, 2 of 3: Ceiling (Kitchen), Ceiling (Bedroom)"),
        ("is the back door locked", "No, Back door is unlocked."),
        ("how warm is the bedroom", "Climate is 19.5 °C."),
        ("卧室多少度", "Climate：19.5 °C。"),
        ("is anybody home", "Yes, 1: Anna"),
        ("谁在家", "1个：Anna"),
        ("is anna home", "Yes, Anna is home."),
        ("where is anna", "Anna is home."),
        ("when does the sun set", "The sun sets at 18:41."),
        ("太阳几点落山", "太阳18:41落山。"),
        ("what is playing in the kitchen", "Radio: playing, News"),
        ("which batteries are low", "1: Remote battery"),
        ("how much time is left on the laundry timer", "Laundry is not running."),
        ("how long is left on the pizza timer", "The timer for pizza has ended: 7 min 30 s left."),
        ("turn on the ceiling", "light.ceiling (Ceiling, Kitchen), light.ceiling_2 (Ceiling, Bedroom)?"),
        ("turn off everything except the unicorn", "I know no the unicorn to leave out, so nothing was done."),
        ("mute the music in here", "Done: Radio."),
    ],
)  # fmt: skip
async def test_a_question_has_the_answer_of_the_home(assistant: Assistant, sentence: str, answer: str) -> None:
    assert answer in await assistant.say(sentence)


@pytest.mark.parametrize(
    ("sentence", "change"),
    [
        ("add 5 minutes to the pizza timer", {"at": "750s"}),
        ("take 2 minutes off the timer", {"at": "330s"}),
        ("把计时器减少两分钟", {"at": "330s"}),
        ("pause the pizza timer", {"enabled": False, "name": "paused, 450 s left"}),
        ("暂停计时器", {"enabled": False, "name": "paused, 450 s left"}),
    ],
)
async def test_a_timer_that_was_said_is_changed(assistant: Assistant, sentence: str, change: dict[str, Any]) -> None:
    await assistant.say(sentence)

    assert assistant.scheduled[-1] == {"action": "update", "id": "t", **change}


FORECAST = [
    {"datetime": "2026-05-12T00:00:00+02:00", "condition": "sunny", "temperature": 21, "templow": 9},
    {
        "datetime": "2026-05-13T00:00:00+02:00",
        "condition": "rainy",
        "temperature": 14.5,
        "templow": 8,
        "precipitation": 4.2,
        "precipitation_probability": 80,
    },
    {"datetime": "2026-05-16T00:00:00+02:00", "condition": "lightning-rainy", "temperature": 18},
]
EVENTS = [
    {
        "start": "2026-05-13T09:00:00+02:00",
        "end": "2026-05-13T10:00:00+02:00",
        "summary": "Dentist",
        "location": "Mill",
    },
    {"start": "2026-05-13", "end": "2026-05-14", "summary": "Bins"},
    {"start": "2026-05-15T18:00:00+02:00", "end": "2026-05-15T19:00:00+02:00", "summary": "Choir"},
]


class Days:
    """A weather station and a calendar that tell of the days to come, unless they are told to fail."""

    def __init__(self, standing: Standing) -> None:
        self.fails = False
        EntityServices(standing.entities, standing.targets, standing.services).register()
        weather = EntityDescription("weather", "garden", "Garden", attributes={"temperature": 12})
        calendar = EntityDescription("calendar", "family", "Family")
        add = standing.entities.add
        add(weather, {"get_forecasts": self._answer("forecast", FORECAST)}, source="days").set("cloudy")
        add(calendar, {"get_events": self._answer("events", EVENTS)}, source="days").set("off")

    def _answer(self, key: str, rows: list[dict[str, Any]]) -> Any:
        async def answer(data: Mapping[str, Any]) -> Mapping[str, Any]:
            if self.fails:
                raise Unavailable("the line is down")
            return {key: rows}

        return answer


@pytest.mark.parametrize(
    ("sentence", "answer", "failing"),
    [
        ("will it rain today?", "Today: sunny, 9 to 21 °.", "Garden is cloudy, 12 °."),
        (
            "What's the weather going to be like tomorrow?",
            "Tomorrow: rainy, 8 to 14.5 °, 4.2 mm of rain, 80 % chance of rain.",
            "Garden is cloudy, 12 °.",
        ),
        ("明天要带伞吗", "明天：有雨，8 到 14.5 °，降水 4.2 mm，降水概率 80 %。", "Garden：多云，12 °。"),
        ("weather on friday", "There is no forecast for that.", "Garden is cloudy, 12 °."),
        ("周末天气怎么样", "星期六：雷阵雨，18 °。", "Garden：多云，12 °。"),
        (
            "what's on my calendar tomorrow",
            "Tomorrow:\n- all day Bins\n- 09:00 Dentist (Mill)",
            "Family cannot be read now.",
        ),
        ("am I free on thursday", "Thursday: there is nothing on the calendar.", "Family cannot be read now."),
        (
            "what do we have planned this week",
            "This week:\n- Wednesday all day Bins\n- Wednesday 09:00 Dentist (Mill)\n- Friday 18:00 Choir",
            "Family cannot be read now.",
        ),
        ("我星期五有什么安排", "星期五：\n- 18:00 Choir", "现在读不到Family。"),
        ("明天有会议吗", "明天：\n- 全天 Bins\n- 09:00 Dentist (Mill)", "现在读不到Family。"),
    ],
)
async def test_days_to_come_are_told(
    standing: Standing, assistant: Assistant, sentence: str, answer: str, failing: str
) -> None:
    days = Days(standing)

    assert await assistant.say(sentence) == answer
    days.fails = True
    assert await assistant.say(sentence) == failing


async def test_what_comes_is_counted_and_its_day_has_to_be_one(standing: Standing, assistant: Assistant) -> None:
    Days(standing)
    many = EntityDescription("calendar", "work", "Work")
    rows = [{"start": "2026-05-13", "end": "2026-05-14", "summary": f"Job {number}"} for number in range(31)]

    async def tell(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"events": rows}

    standing.entities.add(many, {"get_events": tell}, source="days").set("off")
    shown = json.loads((await standing.call("get_state", {"domain": "calendar", "until": "2026-05-13"})).output)

    told = {each["entity_id"]: (len(each["events"]), each.get("more")) for each in shown["states"]}
    assert told == {"calendar.family": (2, None), "calendar.work": (30, 1)}
    wrong = await standing.call("get_state", {"domain": "calendar", "until": "2026-02-30"})
    assert wrong.is_error
    assert "until" in wrong.output


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("today", 12, 12),
        ("the day after tomorrow", 14, 14),
        ("大后天", 15, 15),
        ("tuesday", 12, 12),
        ("next monday", 18, 18),
        ("星期日", 17, 17),
        ("this weekend", 16, 17),
        ("这几天", 12, 18),
    ],
)
def test_words_mean_days(said: str, first: int, last: int) -> None:
    days = days_meant(said, NOW.date())

    assert (days[0].day, days[-1].day) == (first, last)


def test_on_a_sunday_the_weekend_is_what_is_left_of_it() -> None:
    assert days_meant("the weekend", date(2026, 5, 17)) == [date(2026, 5, 17)]


async def test_a_home_without_a_calendar_looks_into_memory(assistant: Assistant) -> None:
    await assistant.say("what do I have planned tomorrow")
    await assistant.say("明天有什么安排")

    assert assistant.sought == ["tomorrow", "明天"]
