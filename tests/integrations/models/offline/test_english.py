from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.models.offline.first_step import FirstStep

GUIDE = Path(__file__).parents[4] / "docs" / "getting-started.md"


@pytest.fixture(scope="module")
def first_step() -> FirstStep:
    return FirstStep()


def kept(text: str, **more: str) -> tuple[str, dict[str, Any]]:
    return "remember", {"text": text, **more}


def todo(text: str) -> tuple[str, dict[str, Any]]:
    return kept(text, kind="todo")


def sought(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "memory_search", {"query": query, **more}


def listed(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return sought(query, limit=20, **more)


def standing(topic: str, remind: str) -> tuple[str, dict[str, Any]]:
    return "standing_intent", {"action": "add", "topic": topic, "remind": remind}


def at(when: str, text: str) -> tuple[str, dict[str, Any]]:
    return "schedule", {"action": "add", "at": when, "text": text}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # to remember
        ("remember that the boiler was serviced on 12 May", kept("the boiler was serviced on 12 May")),
        ("Remember: Anna doesn't eat nuts.", kept("Anna doesn't eat nuts")),
        ("please remember that our wifi is called Lobster", kept("our wifi is called Lobster")),
        ("Can you remember that Ben is allergic to cats?", kept("Ben is allergic to cats")),
        ("could you please remember that the key is under the mat", kept("the key is under the mat")),
        ("Hey Homarus, remember that the bins go out on Monday, thanks!", kept("the bins go out on Monday")),
        ("ok so remember that school starts at 8:15 please", kept("school starts at 8:15")),
        ("rember that bin day is tuesday", kept("bin day is tuesday")),
        ("Remeber the alarm code is 4711", kept("the alarm code is 4711")),
        ("make a note that the plumber comes on Friday", kept("the plumber comes on Friday")),
        ("note: the spare key is with Mrs. Huber", kept("the spare key is with Mrs. Huber")),
        ("note down that mum's flight is LH 123", kept("mum's flight is LH 123")),
        ("keep in mind that Mei is vegetarian", kept("Mei is vegetarian")),
        ("my sister's name is Ada, please remember it", kept("my sister's name is Ada")),
        ("My sister's name is Ada. Please remember it.", kept("My sister's name is Ada")),
        ("My sister's name is Ada! Remember that, please.", kept("My sister's name is Ada")),
        ("Ada is my sister, remember it", kept("Ada is my sister")),
        ("Dr. Bo lives in Elm St. Don't forget it", kept("Dr. Bo lives in Elm St")),
        ("the gate code is 4711 please remember that", kept("the gate code is 4711")),
        ("write down that I lent Tom the drill", kept("I lent Tom the drill")),
        ("don't forget that Oma's birthday is 3 March", kept("Oma's birthday is 3 March")),
        ("I want you to remember that the garage code is 99", kept("the garage code is 99")),
        ("For the record, the roof was repaired in 2019", kept("the roof was repaired in 2019")),
        ("remember my teacher’s name is Wang Fang", kept("my teacher’s name is Wang Fang")),
        ("save this: router password is hunter2", kept("router password is hunter2")),
        ("I'd like you to remember that I prefer tea", kept("I prefer tea")),
        ("pls remember the pin is 1234", kept("the pin is 1234")),
        # to do
        ("don't forget to buy milk", todo("buy milk")),
        ("dont forget to call Anna", todo("call Anna")),
        ("remember to water the plants", todo("water the plants")),
        ("todo: renew the passport", todo("renew the passport")),
        ("add dentist appointment to my to-do list", todo("dentist appointment")),
        ("please put buy stamps on the todo list", todo("buy stamps")),
        ("what are my todos?", listed("", kind="todo")),
        ("What do I have to do?", listed("", kind="todo")),
        ("what do I have to do tomorrow", listed("tomorrow", kind="todo")),
        ("show me my to-do list please", listed("", kind="todo")),
        ("what's on my todo list?", listed("", kind="todo")),
        # to ask
        ("when was the boiler serviced?", sought("the boiler serviced")),
        ("when was the boiler serviced", sought("the boiler serviced")),
        ("What's our wifi called?", sought("our wifi called")),
        ("what is the wifi password", sought("the wifi password")),
        ("waht is the wifi password", sought("the wifi password")),
        ("Where's the spare key?", sought("the spare key")),
        ("who is Mrs. Huber?", sought("Mrs. Huber")),
        ("does Anna eat nuts?", sought("Anna eat nuts")),
        ("can Ben have peanuts?", sought("Ben have peanuts")),
        ("what does Mei like to eat", sought("does Mei like to eat")),
        ("what do you remember about the boiler?", sought("the boiler")),
        ("what do you know about Anna", sought("Anna")),
        ("tell me about Mrs. Huber", sought("Mrs. Huber")),
        ("do you remember where the drill is?", sought("the drill is")),
        ("can you tell me when the plumber comes?", sought("the plumber comes")),
        ("could you tell me what the alarm code is please", sought("the alarm code is")),
        ("I'd like to know when the plumber comes", sought("the plumber comes")),
        ("what did I tell you yesterday?", listed("yesterday")),
        ("what did I say last week", listed("last week")),
        ("what did we note on 12 May?", listed("on 12 May")),
        ("what happened on 12 May?", sought("happened on 12 May", limit=20)),
        ("what did I say about the boiler", sought("the boiler")),
        ("anything about Anna?", sought("Anna")),
        ("search your memory for garage", sought("garage")),
        ("wifi password?", sought("wifi password?")),
        ("Anna's birthday", sought("Anna's birthday")),
        ("our neighbours with the big dog are called?", sought("our neighbours with the big dog are called?")),
        ("what do you remember?", listed("")),
        ("show me what you remember", listed("")),
        ("what have I told you", listed("")),
        ("Remember Anna?", sought("Anna")),
        ("do you remember Anna?", sought("Anna")),
        ("what did we talk about last week?", listed("last week")),
        ("show me everything about Anna", sought("Anna")),
        ("did I tell you about the car?", sought("the car")),
        ("show me all notes about the car", sought("the car")),
        # to forget: looked up first, always
        ("forget the boiler", listed("the boiler")),
        ("please forget that Anna doesn't eat nuts", listed("Anna doesn't eat nuts")),
        ("forgett what I said about the garage", listed("the garage")),
        ("delete the note about the drill", listed("the drill")),
        ("forget everything about Tom", listed("Tom")),
        ("mark call the plumber as done", listed("call the plumber")),
        # to correct
        ("actually, the bins go out on Tuesday instead of Monday", listed("the bins go out on Tuesday Monday")),
        ("no, it's on Tuesday", listed("on Tuesday")),
        ("no, it was on 14 May", listed("on 14 May")),
        ("No, it is not Monday, it's Tuesday", listed("Monday Tuesday")),
        (
            "that's wrong, the boiler was serviced on 14 May, not 12 May",
            listed("the boiler was serviced on 14 May 12 May"),
        ),
        ("no, Leo has football on Fridays", listed("Leo has football on Fridays")),
        ("the pin is 4321, not 1234", listed("the pin is 4321 1234")),
        ("I was wrong, the pin is 4321", listed("the pin is 4321")),
        # standing reminders
        ("When Anna comes up, remind me that I owe her 20 euros", standing("Anna", "I owe her 20 euros")),
        ("when Anna comes up remind me I owe her 20 euros", standing("Anna", "I owe her 20 euros")),
        (
            "whenever I mention the boiler, please remind me to ask about the warranty",
            standing("the boiler", "ask about the warranty"),
        ),
        (
            "remind me when the boiler comes up to ask about the warranty",
            standing("the boiler", "ask about the warranty"),
        ),
        (
            "remind me to ask about the warranty when the boiler comes up",
            standing("the boiler", "ask about the warranty"),
        ),
        (
            "If someone talks about holidays, tell me that the passports are expired",
            standing("holidays", "the passports are expired"),
        ),
        ("next time we talk about the car remind us of the winter tyres", standing("the car", "the winter tyres")),
        ("when we talk about the garden can you remind me to order seeds", standing("the garden", "order seeds")),
        ("what standing reminders do I have?", ("standing_intent", {"action": "list"})),
        ("list my standing reminders", ("standing_intent", {"action": "list"})),
        ("cancel the standing reminder about Anna", ("standing_intent", {"action": "list"})),
        ("stop reminding me when Anna comes up", ("standing_intent", {"action": "list"})),
        ("what reminders do I have?", ("schedule", {"action": "list"})),
        # what is for a time stays for a time
        ("remind me in 20 minutes to take the cake out", at("1200s", "take the cake out")),
        ("can you remind me tomorrow at 9 to call Anna please", at("2026-11-22T09:00", "call Anna")),
        ("what time is it?", ("say", "It is 12:30.")),
        ("what is 12 * (3 + 4)?", ("say", "12 * (3 + 4) = 84")),
        ("12 + 30", ("say", "12 + 30 = 42")),
    ],
)
def test_a_sentence_reaches_the_tool_that_is_meant(first_step: FirstStep, said: str, expected: tuple[str, Any]) -> None:
    assert first_step.of(said) == expected


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("forget it", "nothing was forgotten"),
        ("Forget that.", "nothing was forgotten"),
        ("forget everything", "nothing was forgotten"),
        ("delete everything!", "nothing was forgotten"),
        ("the wifi password is hunter2", "remember that the wifi password is hunter2"),
        ("I think we should go out for dinner tonight", "remember that I think"),
        ("tell me a joke about lobsters", "know only some sentences"),
        ("I forgot where I put my keys today", "did not understand"),
        ("remind me to buy milk", "When?"),
        ("please delete the pin", "forget the pin"),
        ("no, that's wrong", "nothing was changed"),
        ("remember that", "What shall I remember?"),
        ("please remember this!", "What shall I remember?"),
        ("never mind", "nothing was done"),
        ("yes", "nothing was done"),
        ("thank you so much!", "You're welcome."),
        ("thanks!", "You're welcome."),
        ("good morning", "Hello!"),
        ("help", "remember that the boiler"),
    ],
)
def test_what_is_not_clear_is_answered_without_doing_anything(first_step: FirstStep, said: str, words: str) -> None:
    step, answer = first_step.of(said)

    assert step == "say"
    assert words in answer


def test_every_sentence_of_the_guide_is_understood(first_step: FirstStep) -> None:
    said = re.findall(r"^> (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)

    answers = [first_step.of(each) for each in said]

    assert len(said) >= 6
    assert [step for step, _ in answers if step == "say"] == []
