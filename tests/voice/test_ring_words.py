"""What is said to something that rings."""

from __future__ import annotations

import pytest

from hub.voice.ring_words import RingAnswer, ring_answer

STOP = RingAnswer()
SNOOZE = RingAnswer(is_snooze=True)


def put_off(minutes: int) -> RingAnswer:
    return RingAnswer(is_snooze=True, minutes=minutes)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Stop.", STOP),
        ("okay", STOP),
        ("Thanks!", STOP),
        ("turn it off, please", STOP),
        ("Okay, I'm up.", STOP),
        ("aus", STOP),
        ("停", STOP),
        ("好了。", STOP),
        ("关掉闹钟吧", STOP),
        ("我醒了", STOP),
        ("别响了", STOP),
        ("Snooze.", SNOOZE),
        ("not yet", SNOOZE),
        ("再睡一会儿", SNOOZE),
        ("Five more minutes, please.", put_off(5)),
        ("snooze for 20 minutes", put_off(20)),
        ("give me another ten minutes", put_off(10)),
        ("再睡五分钟", put_off(5)),
        ("二十五分钟后再叫我", put_off(25)),
        ("300 minutes", put_off(60)),
    ],
)
def test_what_ends_a_ring_or_puts_it_off_is_understood(said: str, answer: RingAnswer) -> None:
    assert ring_answer(said) == answer


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Thank you.",
        "谢谢",
        "don't stop",
        "what time is it",
        "zero minutes",
        "stop the music in the hall",
        "the alarm",
    ],
)
def test_other_words_and_what_is_heard_in_noise_leave_it_ringing(said: str) -> None:
    assert ring_answer(said) is None
