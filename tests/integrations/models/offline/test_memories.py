"""What the offline model makes of what the tools of memory give back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from hub.models.contract import Message, Role, TextBlock, user_message
from hub.tools.quoting import quote_untrusted
from integrations.models.offline.provider import OfflineProvider
from tests.integrations.models.offline.test_provider import Talk

NOW = datetime(2026, 11, 21, 15, 20, tzinfo=UTC)
TOOLS = ("remember", "memory_search", "forget", "standing_intent", "schedule")
DAY = {"path": "memory/2026-11-20.md", "date": "2026-11-20", "kind": "fact"}
MONDAY = {"text": "the bins go out on Monday", "score": 0.9, **DAY}
CELLAR = {"text": "the boiler is in the cellar", "score": 0.8, **DAY}
SERVICED = {"text": "the boiler was serviced on 12 May", "score": 0.7, **DAY}
HAN_CELLAR = {"text": "锅炉在地下室", "score": 0.8, **DAY}
HAN_SERVICED = {"text": "锅炉是5月12日保养的", "score": 0.7, **DAY}
WROTE = "remembered in memory/2026-11-21.md, line 3"
STANDING = {"id": "a1", "topic": "Anna", "remind": "I owe her 20 euros", "until": "2027-02-19"}
NOTE = "[Sat 2026-11-21 15:20 UTC, reminder]\nStanding reminders.\n\nMe, 2026-11-20, for when Anna comes up:\n> pay {}"


def talk(**answers: Any) -> Talk:
    return Talk(OfflineProvider("offline", lambda: NOW), TOOLS, **answers)


def found(*hits: dict[str, Any]) -> dict[str, Any]:
    return {"hits": list(hits)}


def writes(conversation: Talk) -> list[tuple[str, dict[str, Any]]]:
    return [call for call in conversation.calls if call[0] in {"remember", "forget"}]


async def test_all_that_has_what_was_asked_is_told_with_its_place_and_day() -> None:
    answer = await talk(memory_search=found(CELLAR, SERVICED)).say("what do you remember about the boiler?")

    assert "- the boiler is in the cellar (memory/2026-11-20.md, 20 November 2026)" in answer
    assert "serviced" in answer


async def test_what_is_only_near_is_not_told_as_the_answer() -> None:
    near = await talk(memory_search=found({"text": "Anna eats no nuts", "score": 0.6})).say("when is Anna's birthday?")
    far = await talk(memory_search=found({**HAN_CELLAR, "score": 0.1})).say("安娜吃坚果吗？")

    assert near == "I have nothing in memory on exactly that. The nearest is:\n- Anna eats no nuts"
    assert "没有这方面的内容" in far


async def test_a_day_is_answered_with_what_belongs_to_it_alone() -> None:
    other = {**CELLAR, "date": "2026-11-21", "path": "memory/2026-11-21.md"}

    answer = await talk(memory_search=found(MONDAY, other)).say("what did I tell you yesterday?")

    assert "bins" in answer
    assert "boiler" not in answer


async def test_words_from_outside_are_told_as_such() -> None:
    answer = await talk(memory_search=found({**MONDAY, "trusted": False})).say("when do the bins go out?")

    assert answer.endswith("- the bins go out on Monday (memory/2026-11-20.md, 20 November 2026, from outside)")


async def test_a_statement_that_nobody_asked_to_keep_is_not_kept() -> None:
    conversation = talk(memory_search=found(MONDAY))

    assert "remember that bins are emptied on Friday" in await conversation.say("bins are emptied on Friday")
    assert writes(conversation) == []


async def test_a_long_sentence_is_kept_whole_and_one_beyond_all_bounds_is_not_understood() -> None:
    conversation = talk(remember=WROTE)
    text = "不是，我说的是" * 60

    await conversation.say(f"记住{text}完")
    answer = await conversation.say(f"记住{text * 10}？")

    assert conversation.calls == [("remember", {"text": f"{text}完"})]
    assert "没有听懂" in answer
    assert text not in answer


# --- forgetting ---


@pytest.mark.parametrize(
    ("said", "hits", "count"),
    [("forget the boiler", (CELLAR, SERVICED), "2 entries"), ("忘记锅炉", (HAN_CELLAR, HAN_SERVICED), "2 条")],
)
async def test_of_several_that_may_be_meant_none_is_forgotten_and_all_are_named(
    said: str, hits: tuple[dict[str, Any], ...], count: str
) -> None:
    conversation = talk(memory_search=found(*hits))

    answer = await conversation.say(said)

    assert count in answer
    assert all(hit["text"] in answer for hit in hits)
    assert writes(conversation) == []


async def test_an_exact_sentence_is_forgotten_though_others_have_its_words() -> None:
    more = {**CELLAR, "text": "the boiler is in the cellar of the neighbour"}
    conversation = talk(memory_search=found(more, CELLAR), forget={"forgotten": [CELLAR], "count": 1})

    await conversation.say("Forget that the boiler is in the cellar.")

    assert writes(conversation) == [("forget", {"query": CELLAR["text"]})]


async def test_everything_about_something_is_forgotten_when_that_is_what_was_said() -> None:
    gone = {"forgotten": [CELLAR, SERVICED], "count": 2}
    conversation = talk(memory_search=found(CELLAR, SERVICED), forget=gone)

    answer = await conversation.say("forget everything about the boiler")

    assert writes(conversation) == [("forget", {"query": "the boiler"})]
    assert answer.startswith("Forgotten, 2 entries:")


async def test_what_is_only_near_is_not_forgotten() -> None:
    conversation = talk(memory_search=found(CELLAR))

    assert "nothing was forgotten" in await conversation.say("forget the boiler in the attic")
    assert writes(conversation) == []


async def test_forget_that_names_what_was_spoken_of_and_forgets_nothing() -> None:
    conversation = talk(remember=WROTE)
    await conversation.say("remember that the bins go out on Monday")

    assert 'forget the bins go out on Monday"' in await conversation.say("forget that")
    assert [name for name, _ in conversation.calls] == ["remember"]


# --- correcting ---


@pytest.mark.parametrize(
    ("first", "said", "text", "replaces"),
    [
        ("the bins go out on Monday", "no, it's on Tuesday", "the bins go out on Tuesday", None),
        ("the bins go out on Monday", "No, it's Tuesday!", "the bins go out on Tuesday", None),
        ("the bins go out on Monday", "it's Tuesday, not Monday", "the bins go out on Tuesday", None),
        ("the boiler was serviced on 12 May", "sorry, I meant 14 May", "the boiler was serviced on 14 May", None),
        ("school starts at 8:15", "no, it's 8:30", "school starts at 8:30", None),
        ("Tom has the drill", "actually, it's the saw, not the drill", "Tom has the saw", None),
        ("the bins go out on Monday", "Actually the bins go out on Friday", "the bins go out on Friday", None),
        ("the key is with Anna", "change Anna to Ben", "the key is with Ben", None),
        ("Leo has football on Thursdays", "no, Leo has football on Fridays", "Leo has football on Fridays", None),
        ("the garage pin is 1234", "the garage pin is 4321, not 1234", "the garage pin is 4321", None),
    ],
)
async def test_a_correction_is_about_what_was_said_last(first: str, said: str, text: str, replaces: str | None) -> None:
    conversation = talk(remember=WROTE)
    await conversation.say(f"remember that {first}")

    await conversation.say(said)

    assert writes(conversation)[1:] == [("remember", {"text": text, "replaces": replaces or first})]


@pytest.mark.parametrize(
    ("first", "said", "text"),
    [
        ("收垃圾是周一", "不对，是周二", "收垃圾是周二"),
        ("收垃圾是週一", "不對，是週二", "收垃圾是週二"),
        ("收垃圾是周一", "不是周一，是周二", "收垃圾是周二"),
        ("锅炉是5月12日保养的", "应该是5月14日", "锅炉是5月14日保养的"),
        ("钥匙在安娜那里", "把安娜改成小本", "钥匙在小本那里"),
    ],
)
async def test_a_correction_in_chinese_is_about_what_was_said_last(first: str, said: str, text: str) -> None:
    conversation = talk(remember=WROTE)
    await conversation.say(f"记住{first}")

    answer = await conversation.say(said)

    assert writes(conversation)[1:] == [("remember", {"text": text, "replaces": first})]
    assert "我记住了" in answer


async def test_a_correction_that_names_what_it_replaces_is_looked_up() -> None:
    struck = f"{WROTE}\nstruck in memory/2026-11-20.md, line 3: the bins go out on Monday"
    conversation = talk(memory_search=found(MONDAY, CELLAR), remember=struck)

    answer = await conversation.say("actually, the bins go out on Tuesday instead of Monday")

    expected = {"text": "the bins go out on Tuesday", "replaces": "the bins go out on Monday"}
    assert writes(conversation) == [("remember", expected)]
    assert "replaces: the bins go out on Monday" in answer


@pytest.mark.parametrize(
    "said",
    [
        "no, it's on Tuesday",
        "no, it's the red one",
        "actually, the moon is made of cheese",
        "actually, dinner is on Tuesday instead of Friday",
        "change the boiler to blue",
        "update the boiler to 14 May",
        "I do not like the cellar",
        "the sky is blue, not in the cellar",
        "no thanks",
        "不对，是周二",
    ],
)
async def test_a_correction_of_nothing_in_particular_changes_nothing(said: str) -> None:
    conversation = talk(memory_search=found(MONDAY, {**SERVICED, "text": "the boiler is from 12 May or 3 June"}))

    await conversation.say(said)

    assert writes(conversation) == []


async def test_a_correction_that_fits_several_entries_names_them_and_changes_nothing() -> None:
    paper = {**MONDAY, "text": "paper goes out on Monday"}
    conversation = talk(memory_search=found(MONDAY, paper))

    answer = await conversation.say("change Monday to Tuesday")

    assert "nothing was changed" in answer
    assert "paper" in answer
    assert writes(conversation) == []


# --- standing reminders ---


async def test_a_standing_reminder_is_set_and_told_until_when() -> None:
    conversation = talk(standing_intent='noted: {"id":"a1","topic":"Anna","remind":"x","until":"2027-02-19"}')

    answer = await conversation.say("When Anna comes up, remind me that I owe her 20 euros")

    assert answer == 'When "Anna" comes up, I\'ll remind you: I owe her 20 euros (until 19 February 2027)'


async def test_both_kinds_of_reminders_are_listed() -> None:
    conversation = talk(schedule={"schedules": []}, standing_intent={"intents": [STANDING]})

    answer = await conversation.say("what reminders do I have?")

    assert 'when "Anna" comes up: I owe her 20 euros (until 19 February 2027)' in answer


async def test_only_the_standing_reminder_that_is_meant_is_taken_away() -> None:
    ben = {**STANDING, "id": "b2", "topic": "Ben", "remind": "his bike"}
    conversation = talk(standing_intent={"intents": [STANDING, ben]}, schedule={"schedules": []})

    await conversation.say("cancel the reminder about Ben")
    await conversation.say("cancel the standing reminder about Tom")

    assert [call for call in conversation.calls if call[1]["action"] == "remove"] == [
        ("standing_intent", {"action": "remove", "id": "b2"})
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [("where does Anna live?", "You wanted to be reminded: pay "), ("安娜住在哪里？", "你要我提醒你：pay ")],
)
async def test_what_the_hub_wants_brought_up_is_said_before_the_answer(said: str, told: str) -> None:
    conversation = talk(memory_search=found())
    earlier = Message(Role.ASSISTANT, (TextBlock("Hello"),))
    conversation.messages = [user_message(NOTE.format("nobody")), user_message("hello"), earlier]
    conversation.messages.append(user_message(NOTE.format("Anna")))

    answer = await conversation.say(said)

    assert answer.startswith(f"{told}Anna\n\n")
    assert "nobody" not in answer


async def test_a_reminder_from_outside_is_said_to_be_one() -> None:
    conversation = talk(memory_search=found())
    head, _, note = NOTE.format("Anna").partition("\n")
    conversation.messages = [user_message(f"{head}\n{quote_untrusted(note, source='reminder')}")]

    assert (await conversation.say("who is Anna?")).startswith("A reminder that came from outside: pay Anna")


# --- what fails ---


@pytest.mark.parametrize(
    "error",
    [
        "error: remember needs the owner's approval: the owner said no",
        "error: forget needs the owner's approval, and there is no one to ask",
        "error: 7 entries match, and nothing was forgotten. Say more precisely which, or of which session",
        "error: that is longer than 4000 characters; shorten it",
        "error: remember did not finish within 60 s and was stopped",
        "error: no memory is set up; see the integration notes",
        "error: nothing is remembered here: others read along, or it is not known who is speaking. ",
        "error: something that nobody foresaw",
    ],
)
async def test_an_error_is_told_in_the_language_of_the_conversation(error: str) -> None:
    chinese = await talk(remember=error).say("记住锅炉在地下室")
    english = await talk(remember=error).say("remember that the boiler is in the cellar")

    assert re.search("[a-z]{3}", re.sub("`[^`]*`|remember", "", chinese)) is None
    assert re.search("[一-龥]", english) is None
    assert len(english) > 20
