"""What is said is cut into sentences, so that the first is heard soon and the next is made meanwhile."""

from __future__ import annotations

import pytest

from hub.voice.mouth import LONGEST_CHARS, sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("First one. Second one is here. Third.", ["First one. Second one is here.", "Third."]),
        ("It is 21. It rains outside now.", ["It is 21. It rains outside now."]),
        (
            "Here is the list:\n1. Milk\n2. Eggs\n10. Bread and butter",
            ["Here is the list: 1. Milk", "2. Eggs 10. Bread and butter"],
        ),
        (
            "今天有雨，请带伞，也穿上外套，外面很冷，风很大。再见。",
            ["今天有雨，请带伞，也穿上外套，外面很冷，风很大。", "再见。"],
        ),
        (
            "Sun and rain and wind, " * 8 + "snow.",
            [("Sun and rain and wind, " * 7).strip(), "Sun and rain and wind, snow."],
        ),
        ("word " * 40, [("word " * 32).strip(), ("word " * 8).strip()]),
        ("字" * 200, ["字" * LONGEST_CHARS, "字" * 40]),
    ],
)
def test_a_text_is_spoken_in_sentences_of_a_bounded_length(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences
