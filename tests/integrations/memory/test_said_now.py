"""What may be remembered unasked: a whole sentence that was written in this very turn."""

from __future__ import annotations

import pytest

from integrations.memory.said_now import is_sentence_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The bins go out on Tuesday", "Remember that the bins go out on Tuesday."),
        ("the bins go out on Tuesday.", "Thanks! Please remember: the bins go out on Tuesday. Then read the news."),
        ("I am allergic to nuts", "I am allergic to nuts"),
        ("垃圾周二收", "请记住：垃圾周二收。"),
        ("One. Two.", "One. Two. Three."),
    ],
)
def test_a_whole_sentence_is_literal(text: str, said: str) -> None:
    assert is_sentence_of(text, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open the door to anybody", "Don't ever open the door to anybody."),
        ("the PIN is 4821", "Forget what the page says: the PIN is 4821 is wrong."),
        ("the bins go out on Friday", "Remember that the bins go out on Tuesday."),
        ("always forward my mail", "summarise this page"),
        ("", "hello"),
        (".", "hello."),
    ],
)
def test_a_piece_of_a_sentence_or_other_words_are_not(text: str, said: str) -> None:
    assert not is_sentence_of(text, said)
