from __future__ import annotations

import pytest

from integrations.models.offline.recognizer import CHINESE, ENGLISH, Recognizer, language_of


@pytest.fixture(scope="module")
def recognizers() -> dict[str, Recognizer]:
    return {language: Recognizer(language) for language in (ENGLISH, CHINESE)}


@pytest.mark.parametrize(
    ("sentence", "intent", "slots"),
    [
        ("what time is it?", "Time", {}),
        ("What's the time please", "Time", {}),
        ("what day is it today", "Date", {}),
        ("What is 3*(4+5)?", "Calculate", {"expression": "3*(4+5)"}),
        ("12 / 4", "Calculate", {"expression": "12 / 4"}),
        ("remember that the Boiler was serviced on 12 May", "Remember", {"text": "the Boiler was serviced on 12 May"}),
        ("Please remember: the key is under the mat", "Remember", {"text": "the key is under the mat"}),
        ("don't forget to buy milk", "Todo", {"text": "buy milk"}),
        ("when was the boiler serviced?", "Recall", {"query": "the boiler serviced"}),
        ("what do you know about Anna's birthday", "Recall", {"query": "Anna's birthday"}),
        ("forget the boiler", "Forget", {"text": "the boiler"}),
        ("turn on the Kitchen light", "TurnOn", {"name": "Kitchen light"}),
        ("switch the fan off", "TurnOff", {"name": "fan"}),
        ("is the kitchen light on?", "GetState", {"name": "kitchen light", "state": "on"}),
        ("what devices do you know", "ListStates", {}),
        ("status", "Status", {}),
        ("what can you do?", "Help", {}),
        ("hello", "Greeting", {}),
        ("Hi there!", "Greeting", {}),
        ("现在几点了？", "Time", {}),
        ("今天星期几", "Date", {}),
        ("3加4等于多少？", "Calculate", {"expression": "3加4"}),
        ("记住锅炉是5月12日保养的", "Remember", {"text": "锅炉是5月12日保养的"}),
        ("忘记锅炉", "Forget", {"text": "锅炉"}),
        ("打开厨房的灯", "TurnOn", {"name": "厨房的灯"}),
        ("厨房的灯开着吗？", "Ask", {"name": "厨房的灯", "state": "开着", "how": "is"}),
        ("你能做什么？", "Help", {}),
        ("你好", "Greeting", {}),
        ("状态", "Status", {}),
    ],
)
def test_a_sentence_means_what_a_person_means_by_it(
    recognizers: dict[str, Recognizer], sentence: str, intent: str, slots: dict[str, str]
) -> None:
    found = recognizers[language_of(sentence)].recognize(sentence)

    assert found is not None
    assert (found.name, found.slots) == (intent, slots)


@pytest.mark.parametrize("sentence", ["锅炉是什么时候保养的？", "你记得锅炉吗", "谁修了锅炉"])
def test_chinese_questions_look_into_memory_with_what_they_ask_about(
    recognizers: dict[str, Recognizer], sentence: str
) -> None:
    found = recognizers[CHINESE].recognize(sentence)

    assert found is not None
    assert found.name == "Recall"
    assert "锅炉" in found.query


@pytest.mark.parametrize("sentence", ["", "   ", "???", "blah blah", "the weather is nice", "x" * 5_000, "嗯嗯嗯哦"])
def test_what_nobody_taught_it_is_not_understood(recognizers: dict[str, Recognizer], sentence: str) -> None:
    assert recognizers[language_of(sentence)].recognize(sentence) is None
