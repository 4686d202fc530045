from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from hub.entities.services import IS_NEW
from hub.models.contract import (
    Message,
    ModelEvent,
    ModelRequest,
    Role,
    StopEvent,
    StopReason,
    TextDelta,
    ToolCallBlock,
    ToolCallEvent,
    ToolSpec,
    tool_result,
    user_message,
)
from hub.tools.quoting import quote_untrusted
from integrations.models.offline.provider import OfflineProvider

NOW = datetime(2026, 11, 21, 7, 5, tzinfo=UTC)
ALL_TOOLS = ("remember", "memory_search", "forget", "get_state", "home", "session_status")
DEVICES = [
    {"entity_id": "light.kitchen", "name": "Kitchen light", "state": "on"},
    {"entity_id": "light.kitchen_table", "name": "Kitchen table light", "state": "off"},
    {
        "entity_id": "sensor.living_room",
        "name": "Living room temperature",
        "state": "21.5",
        "attributes": {"unit_of_measurement": "°C"},
    },
    {"entity_id": "light.chufang", "name": "厨房的灯", "state": "off"},
]


@pytest.fixture
def provider() -> OfflineProvider:
    return OfflineProvider("offline", lambda: NOW)


class Talk:
    """A conversation with scripted answers of the tools."""

    def __init__(self, provider: OfflineProvider, tools: tuple[str, ...] = ALL_TOOLS, **outputs: Any) -> None:
        self.provider = provider
        self.tools = tools
        self.outputs = {"get_state": {"states": []}, **outputs}
        self.messages: list[Message] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def say(self, text: str) -> str:
        self.messages.append(user_message(text))
        for _ in range(10):
            events = await self._events()
            calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
            if not calls:
                assert events[-1] == StopEvent(StopReason.END)
                return "".join(event.text for event in events if isinstance(event, TextDelta))
            assert events[-1] == StopEvent(StopReason.TOOL_CALLS)
            for call in calls:
                self._answer(call)
        raise AssertionError("it never stopped calling tools")

    async def _events(self) -> list[ModelEvent]:
        tools = tuple(ToolSpec(name, "", {}) for name in self.tools)
        request = ModelRequest(model="homarus", system="", messages=tuple(self.messages), tools=tools)
        return [event async for event in self.provider.stream(request)]

    def _answer(self, call: ToolCallBlock) -> None:
        self.calls.append((call.name, dict(call.arguments)))
        output = self.outputs[call.name]
        error = output.startswith("error:") if isinstance(output, str) else False
        text = output if isinstance(output, str) else json.dumps(output)
        self.messages += [Message(Role.ASSISTANT, (call,)), tool_result(call, text, is_error=error)]


async def test_time_and_date_come_from_the_envelope_in_the_language_of_the_question(provider: OfflineProvider) -> None:
    talk = Talk(provider)

    assert await talk.say("[Sat 2026-11-21 12:51 CET, webchat, from Me]\nwhat time is it?") == "It is 12:51."
    assert await talk.say("what day is it today?") == "Today is Saturday, 21 November 2026."
    assert await talk.say("现在几点了？") == "现在是 07:05。"


async def test_sums_are_answered_without_a_tool(provider: OfflineProvider) -> None:
    talk = Talk(provider)

    assert await talk.say("what is 12 * (3 + 4)?") == "12 * (3 + 4) = 84"
    assert talk.calls == []


async def test_others_get_answers_and_no_tool_is_called_for_them(provider: OfflineProvider) -> None:
    talk = Talk(provider)
    envelope = "[Sat 2026-11-21 12:51 CET, telegram, from Eve]"

    answers = [
        await talk.say(f"{envelope}\n{quote_untrusted(text, source='telegram')}")
        for text in ("what is 6 times 7?", "remember that the door is open", "what time is it?")
    ]

    assert answers[0] == "6 times 7 = 42"
    assert "did not understand" in answers[1]
    assert answers[2] == "It is 12:51."
    assert talk.calls == []


async def test_it_remembers_through_the_tool_and_says_where(provider: OfflineProvider) -> None:
    talk = Talk(provider, remember="remembered in memory/2026-11-21.md, line 3")

    answer = await talk.say("remember that the boiler was serviced on 12 May")

    assert talk.calls == [("remember", {"text": "the boiler was serviced on 12 May"})]
    assert "memory/2026-11-21.md" in answer


async def test_it_recalls_the_best_of_what_memory_finds(provider: OfflineProvider) -> None:
    hits = [{"text": "the boiler was serviced on 12 May", "score": 0.9}, {"text": "the roof leaks", "score": 0.2}]
    talk = Talk(provider, memory_search={"hits": hits})

    answer = await talk.say("when was the boiler serviced?")

    assert answer == "You told me: the boiler was serviced on 12 May"


async def test_it_tells_several_memories_that_fit_alike_and_admits_to_none(provider: OfflineProvider) -> None:
    hits = [{"text": "key one", "score": 0.9}, {"text": "key two", "score": 0.8}]

    assert "- key one\n- key two" in await Talk(provider, memory_search={"hits": hits}).say("where is my key?")
    assert "nothing in memory" in await Talk(provider, memory_search={"hits": []}).say("where is my key?")


async def test_it_forgets_and_says_what(provider: OfflineProvider) -> None:
    boiler = {"text": "the boiler was serviced"}
    talk = Talk(provider, memory_search={"hits": [boiler]}, forget={"forgotten": [boiler], "count": 1})

    assert await talk.say("forget the boiler") == "Forgotten:\n- the boiler was serviced"
    assert talk.calls[-1] == ("forget", {"query": "the boiler was serviced"})


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("is the kitchen light on?", "Yes, Kitchen light is on."),
        ("what is the state of the kitchen table light", "Kitchen table light is off."),
        ("how warm is it in the living room?", "Living room temperature is 21.5 °C."),
        ("厨房的灯的状态是什么", "厨房的灯：关着。"),
    ],
)
async def test_it_tells_the_state_of_the_device_that_is_meant(
    provider: OfflineProvider, sentence: str, answer: str
) -> None:
    assert await Talk(provider, get_state={"states": DEVICES}).say(sentence) == answer


async def test_a_name_that_is_no_device_is_looked_up_in_memory(provider: OfflineProvider) -> None:
    talk = Talk(
        provider, get_state={"states": []}, memory_search={"hits": [{"text": "the fence is blue", "score": 1.0}]}
    )

    assert "- the fence is blue" in await talk.say("what is the state of the garden fence")


@pytest.mark.parametrize(
    ("sentence", "verb", "name", "answer"),
    [
        ("please turn off the lights in the kitchen", "turn_off", "lights in the kitchen", "A, B is being turned off."),
        ("unlock the front door", "unlock", "front door", "A, B is being unlocked."),
        ("close the blinds", "close", "blinds", "A, B is being closed."),
        ("打开客厅的灯", "turn_on", "客厅的灯", "正在打开A、B。"),
        ("把前门锁上", "lock", "前门", "正在锁上A、B。"),
    ],
)
async def test_it_commands_what_is_meant(
    provider: OfflineProvider, sentence: str, verb: str, name: str, answer: str
) -> None:
    talk = Talk(provider, home={"done": verb, "names": ["A", "B"]})

    assert await talk.say(sentence) == answer
    assert talk.calls == [("home", {"do": verb, "name": name})]


@pytest.mark.parametrize(
    ("sentence", "search"),
    [
        ("what's the temperature in the bedroom?", "bedroom temperature"),
        ("卧室的温度是多少", "卧室 temperature"),
        ("show me the front door", "front door"),
    ],
)
async def test_it_looks_for_what_is_asked_about(provider: OfflineProvider, sentence: str, search: str) -> None:
    talk = Talk(provider, get_state={"states": DEVICES}, memory_search={"hits": []})

    await talk.say(sentence)

    assert talk.calls[0] == ("get_state", {"search": search, "limit": 100})


@pytest.mark.parametrize(
    ("sentence", "of", "unlocked", "answer"),
    [
        ("is the front door locked?", 1, [], "Yes, Front door is locked."),
        ("is the front door locked?", 1, ["no"], "No, Front door is unlocked."),
        ("前门锁了吗", 1, ["no"], "不是，Front door：未锁。"),
    ],
)
async def test_yes_or_no_is_said_with_the_state(
    provider: OfflineProvider, sentence: str, of: int, unlocked: list[str], answer: str
) -> None:
    door = {"entity_id": "lock.front_door", "name": "Front door", "state": "unlocked" if unlocked else "locked"}

    class Door(Talk):
        def _answer(self, call: ToolCallBlock) -> None:
            fits = not unlocked or "state" not in call.arguments
            self.outputs["get_state"] = {"states": [door] if fits else [], "looked_at": of}
            super()._answer(call)

    assert await Door(provider).say(sentence) == answer


async def test_a_tool_that_fails_is_told_and_not_called_again(provider: OfflineProvider) -> None:
    talk = Talk(provider, home="error: the bridge is not connected")

    assert "the bridge is not connected" in await talk.say("turn on the kitchen light")
    assert [name for name, _ in talk.calls] == ["home"]


async def test_a_device_that_is_not_there_is_named(provider: OfflineProvider) -> None:
    talk = Talk(provider, home="error: there is nothing called 'moon' that can turn_on; get_state with search")

    assert await talk.say("turn on the moon") == "I know no device called moon."


@pytest.mark.parametrize(
    ("sentence", "error", "told"),
    [
        ("turn on the desk plug", f"'desk plug' {IS_NEW}", "desk plug is new. I can use it once you say"),
        ("turn on the desk plug", f"switch.desk_plug {IS_NEW}", "switch.desk_plug is new. I can"),
        ("打开桌灯", f"'桌灯' {IS_NEW}", "桌灯 是新设备"),
    ],
)
async def test_a_device_that_is_new_is_not_used_and_why_is_said(
    provider: OfflineProvider, sentence: str, error: str, told: str
) -> None:
    talk = Talk(provider, home=f"error: {error}")

    assert (await talk.say(sentence)).startswith(told)


async def test_a_tool_it_may_not_use_is_named_and_not_called(provider: OfflineProvider) -> None:
    talk = Talk(provider, tools=())

    assert "remember" in await talk.say("remember that it rains")
    assert talk.calls == []


@pytest.mark.parametrize(("sentence", "word"), [("blah blah", "models.providers"), ("嗯嗯嗯哦", "models.providers")])
async def test_what_it_does_not_understand_it_says_with_how_to_add_a_model(
    provider: OfflineProvider, sentence: str, word: str
) -> None:
    assert word in await Talk(provider, memory_search={"hits": []}).say(sentence)


async def test_hostile_tool_output_breaks_nothing(provider: OfflineProvider) -> None:
    for output in ("", "not json", '{"hits": "x"}', '{"hits": [1, {"nothing": 2}]}', "[]", "{}}"):
        assert "nothing in memory" in await Talk(provider, memory_search=output).say("where is my key?")


@pytest.mark.parametrize("language", ["en-GB", "zh-CN", None])
async def test_its_grammar_can_be_loaded_before_the_first_sentence(
    provider: OfflineProvider, language: str | None
) -> None:
    await provider.prepare("homarus", language)

    recognizers = (await provider._loaded())._recognizers
    assert [name for name, each in recognizers.items() if each.loaded] == ["zh-CN" if language == "zh-CN" else "en"]
