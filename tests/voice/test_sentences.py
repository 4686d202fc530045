"""An answer, as it is written, becomes sentences for the ear."""

from __future__ import annotations

import pytest

from hub.voice.sentences import LONGEST, Sentences


def spoken(text: str, step: int) -> list[str]:
    sentences = Sentences()
    found = [each for at in range(0, len(text), step) for each in sentences.feed(text[at : at + step])]
    return [*found, *sentences.end()]


@pytest.mark.parametrize("step", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is **warm** today. Take a [hat](https://a.example/b)!", ["It is warm today.", "Take a hat!"]),
        ("Yes. It is 3.5 degrees.\n\nGood night", ["Yes. It is 3.5 degrees.", "Good night"]),
        ("好的，灯开了。再见", ["好的，灯开了。", "再见"]),
        ("Look here:\n```py\nprint('a. b')\n```\nThat is all.", ["Look here:", "That is all."]),
        ("Prices:\n| a | b |\n|---|---|\n| 1 | 2 |\nThat is all.", ["Prices:", "That is all."]),
        ("- one thing\n- another\n", ["one thing", "another"]),
        ("**It is late. Go to bed.**", ["It is late.", "Go to bed."]),
        ("---\n", []),
    ],
)
def test_an_answer_is_cut_the_same_however_it_comes(text: str, words: list[str], step: int) -> None:
    assert spoken(text, step) == words


def test_a_sentence_is_given_as_soon_as_it_is_whole() -> None:
    sentences = Sentences()

    assert sentences.feed("The light is on. Shall") == ["The light is on."]
    assert sentences.feed(" I turn it off?") == []
    assert sentences.end() == ["Shall I turn it off?"]


def test_what_never_ends_is_cut_between_words() -> None:
    found = Sentences().feed("word " * LONGEST)

    assert len(found) > 1
    assert all(len(each) <= LONGEST and each.endswith("word") for each in found)
