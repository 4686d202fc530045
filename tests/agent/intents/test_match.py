"""Which standing intents a message touches: all words of one topic, in any form, in two languages, at no cost."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.agent.intents.match import IntentIndex, clean_topics, split_topics, topic_words
from hub.core.errors import InvalidRequest
from hub.memory.words import words_of


def index(**topics: list[str]) -> IntentIndex:
    made = IntentIndex()
    for id, each in topics.items():
        made.add(id, each)
    return made


@pytest.mark.parametrize(
    ("topic", "message", "touched"),
    [
        ("boiler", "The boilers are loud again", True),
        ("boiler", "BOILER!", True),
        ("boiler", "We boiled eggs", False),
        ("heating bill", "the bill for heating came", True),
        ("heating bill", "the bill for water came", False),
        ("锅炉", "我们的锅炉坏了", True),
        ("锅炉", "我们的炉子坏了", False),
        ("Kessler GmbH", "Is Kessler coming?", False),
        ("café", "to the cafe", True),
        ("2027", "plans for 2027", True),
    ],
)
def test_a_topic_comes_up_with_all_its_words_in_any_form(topic: str, message: str, touched: bool) -> None:
    assert index(a=[topic]).matching_ids(message) == (["a"] if touched else [])


def test_one_of_several_topics_is_enough() -> None:
    made = index(a=["boiler", "锅炉"], b=["garden hose"])

    assert made.matching_ids("the hose in the garden; 锅炉") == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("boiler, heating bill", ("boiler", "heating bill")),
        ("boiler or  heating bill", ("boiler", "heating bill")),
        ("锅炉、暖气或者燃气", ("锅炉", "暖气", "燃气")),
        ("boiler|boiler", ("boiler",)),
        ("doorbell", ("doorbell",)),
    ],
)
def test_topics_are_written_as_people_write_them(text: str, topics: tuple[str, ...]) -> None:
    assert split_topics(text) == topics


@pytest.mark.parametrize("topics", [[], ["the"], ["?!"], ["x" * 300], [f"word{n}" for n in range(13)], [" "]])
def test_topics_that_could_not_be_recognised_are_refused(topics: list[str]) -> None:
    with pytest.raises(InvalidRequest):
        clean_topics(topics)


_WORDS = st.sampled_from(["boiler", "garden", "hose", "anna", "paris", "锅炉", "暖气", "bill", "tax"])
_TOPICS = st.lists(st.lists(_WORDS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3)


@given(st.dictionaries(st.sampled_from("abcdefgh"), _TOPICS), st.sets(st.sampled_from("abcdefgh")), st.lists(_WORDS))
def test_the_index_finds_what_looking_at_each_would_find(
    topics: dict[str, list[str]], removed: set[str], message: list[str]
) -> None:
    made = index(**topics)
    for id in removed:
        made.remove(id)
    text = " ".join(message)

    found = set(made.matching_ids(text))

    words = set(words_of(text))
    left = {id: each for id, each in topics.items() if id not in removed}
    assert found == {id for id, each in left.items() if any(topic_words(topic) <= words for topic in each)}
    assert len(made) == len(left)


def test_adding_again_takes_the_place_of_what_was_there() -> None:
    made = index(a=["boiler"])

    made.add("a", ["garden"])

    assert made.matching_ids("boiler") == []
    assert made.matching_ids("garden") == ["a"]
