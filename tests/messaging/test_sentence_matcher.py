"""Sentences: which texts match, the values of their slots, and the cost of a message."""

from __future__ import annotations

import pytest

from hub.core.tasks import TaskOwner
from hub.messaging.inbox.sentence_matcher import Sentences, problem_of
from tests.automation.triggers.bench import calls_during

LIGHT = "[please] turn on [the] {area} (light|lamp)"


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("turn on [the] {area} (light|lamp)", None),
        ("good night", None),
        ("晚安", None),
        ("", "words"),
        ("...", "words"),
        ("{area}", "beside its slots"),
        ("turn on (the", ") is missing"),
        ("turn on the]", "] closes"),
        ("turn (on]", "] closes"),
        ("turn on <area>", "rules"),
        ("turn on {two words}", "name in braces"),
        ("a {a} b {b} c {c} d {d} e {e}", "at most 4"),
        ("x" * 201, "200"),
    ],
)
def test_what_is_wrong_with_a_sentence(sentence: str, problem: str | None) -> None:
    found = problem_of(sentence)

    assert (found is None) if problem is None else (found is not None and problem in found)


@pytest.mark.parametrize(
    ("sentences", "text", "slots"),
    [
        ([LIGHT], "Please turn on the living room lamp!", {"area": "living room"}),
        ([LIGHT], "turn on kitchen light", {"area": "kitchen"}),
        ([LIGHT], "turn on the light switch", None),
        (["good night", "sleep well"], "  Sleep   WELL. ", {}),
        (["good night"], "good night everybody", None),
        (["remind me to {what} (at|on) {when}"], "remind me to call Ann at noon", {"what": "call Ann", "when": "noon"}),
        (["light[s] off"], "lights off", {}),
        (["light[s] off"], "light off", {}),
        (["Straße fegen"], "strasse fegen", None),
        (["good night"], "good night " * 40, None),
        (["good night"], "", None),
    ],
)
async def test_texts_are_read(sentences: list[str], text: str, slots: dict[str, str] | None) -> None:
    table = Sentences(TaskOwner("test"))
    table.register(sentences, lambda match, context: None)

    match = await table.match(text)

    assert (None if match is None else dict(match.slots)) == slots


async def test_the_most_literal_sentence_wins() -> None:
    table = Sentences(TaskOwner("test"))
    table.register(["turn on {what}"], lambda match, context: None)
    table.register(["turn on the radio"], lambda match, context: None)

    match = await table.match("turn on the radio")

    assert match is not None
    assert match.sentence == "turn on the radio"


async def test_what_ended_is_not_matched_and_what_came_later_is() -> None:
    table = Sentences(TaskOwner("test"))
    end = table.register(["good night"], lambda match, context: None)
    assert await table.match("good night") is not None

    end()
    end()
    table.register(["sleep well"], lambda match, context: None)

    assert await table.match("good night") is None
    assert await table.match("sleep well") is not None
    assert len(table.registered) == 1


async def test_a_sentence_that_cannot_be_read_is_told_and_others_go_on() -> None:
    table, problems = Sentences(TaskOwner("test")), list[str]()
    table.register(["good (night", "sleep well"], lambda match, context: None, fail=problems.append)

    match = await table.match("sleep well")

    assert match is not None
    assert "good (night" in problems[0]


async def test_a_sentence_is_not_tried_on_texts_without_its_longest_word() -> None:
    table = Sentences(TaskOwner("test"))
    table.register([f"do the task number{n} with {{what}}" for n in range(200)], lambda match, context: None)
    await table.match("load")

    def match_now(text: str) -> None:
        with pytest.raises(StopIteration):
            table.match(text).send(None)

    others = calls_during(lambda: match_now("something else entirely"))
    one = calls_during(lambda: match_now("do the task number7 with care"))

    assert others < 50 < one
