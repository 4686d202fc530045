"""The words of the demo home are whole in each language."""

from __future__ import annotations

import pytest

from integrations.devices.demo.devices import THINGS
from integrations.devices.demo.story import LANGUAGES, Story, read_story


@pytest.fixture(params=LANGUAGES)
def story(request: pytest.FixtureRequest) -> Story:
    return read_story(str(request.param))


def test_every_thing_and_its_area_has_a_name(story: Story) -> None:
    wanted = {each.id.partition(".")[2] for each in THINGS} | {each.area for each in THINGS if each.area}

    assert wanted <= story.names.keys()


def test_every_question_of_the_past_has_the_answer_that_it_has_in_english(story: Story) -> None:
    assert _answers_of(story) == _answers_of(read_story(LANGUAGES[0]))


def test_the_same_happens_in_each_language(story: Story) -> None:
    english = read_story(LANGUAGES[0])

    assert [(each.days, each.at, each.who, each.verdict) for each in story.talks] == [
        (each.days, each.at, each.who, each.verdict) for each in english.talks
    ]
    assert [[step.tool for step in each.steps] for each in story.answers] == [
        [step.tool for step in each.steps] for each in english.answers
    ]


def _answers_of(story: Story) -> list[int]:
    """Return the place of the first answer that knows each question, in the order in which they are asked."""
    asked = [text for talk in (*story.talks, story.waits) for text in talk.says]
    return [next(place for place, answer in enumerate(story.answers) if answer.knows(text)) for text in asked]


def test_a_language_without_words_of_its_own_has_english_ones() -> None:
    assert read_story("eo").language == "en"
