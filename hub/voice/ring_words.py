"""What is said to something that rings: that it be silent, or ring again later. Pure.

"Thank you" and 谢谢 alone are what models hear in noise, and silence nothing.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hub.voice.turn import STOP_WORDS

LONGEST_CHARS = 60
SNOOZE_LIMIT_MIN = 60

_STOP = frozenset(
    {
        *("stop", "stopp", "okay", "ok", "thanks", "off", "quiet", "silence", "enough", "cancel", "dismiss"),
        *("done", "aus", "danke", "halt", "awake"),
    }
)
_BESIDE = frozenset(
    {
        *(
            "please",
            "now",
            "the",
            "this",
            "that",
            "it",
            "alarm",
            "timer",
            "turn",
            "switch",
            "all",
            "right",
            "yes",
            "be",
        ),
        *("got", "i", "im", "m", "am", "up", "bitte", "ringing"),
    }
)
_HAN_STOP = re.compile(
    r"(?:请|快)?(?:停(?:止|下|一下)?|好了?的?|知道了|关(?:掉|了|闭)?(?:闹钟|计时器)?|够了|安静|闭嘴|取消"
    r"|(?:别|不要)(?:再)?(?:响|吵|叫)了?|(?:我)?(?:已经)?(?:醒|起来|起床)了)(?:吧|啦)?"
)
_COUNTED = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_NUMBERS = {word: number for number, word in enumerate(_COUNTED)} | {
    "a": 1,
    "another": 1,
    "twenty five": 25,
    "thirty": 30,
    "forty": 40,
    "forty five": 45,
    "fifty": 50,
    "sixty": 60,
}
_NUMBER = r"\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True))
_SNOOZE = re.compile(
    r"(?:(?:please|okay|ok|no) )*(?:snooze(?: it| the alarm)?|(?:ask|try|come back|remind me|wake me(?: up)?) "
    r"(?:again )?later|later|not yet)(?: please)?"
)
_SNOOZE_FOR = re.compile(
    r"(?:(?:please|okay|ok|no|just) )*(?:snooze(?: it| the alarm)?|give me|let me sleep|wake me(?: up)?(?: again)?)?"
    rf" ?(?:for|in|another)? ?(?P<count>{_NUMBER}) ?(?:more )?min(?:ute)?s?(?: more| longer)?"
    r"(?: please)?"
)
_HAN_SNOOZE = re.compile(
    r"(?:请|让我)?(?:贪睡|小睡|稍后(?:再)?(?:叫我|提醒|响)?|(?:等|过|晚)(?:一)?(?:会儿?|点儿?)(?:再)?(?:叫我|提醒我?|响)?"
    r"|再睡(?:一)?(?:会儿?|下)|推迟(?:一下)?)(?:吧)?"
)
_HAN_SNOOZE_FOR = re.compile(
    r"(?:请|让我)?(?:再)?(?:睡|等|过|给我|推迟|延迟|贪睡|小睡|来)?(?P<count>\d{1,3}|[一二两三四五六七八九十]{1,3})(?:个)?分钟"
    r"(?:(?:之)?后)?(?:再)?(?:叫我|提醒我?|响|说)?(?:吧)?"
)
_HAN_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"两": 2}


class RingAnswer(Struct, frozen=True):
    """What somebody said to something that rings.

    Attributes:
        is_snooze: Whether it is to ring again later; else it is to be silent.
        minutes: How much later, as was said; None if it was not.
    """

    is_snooze: bool = False
    minutes: int | None = None


def ring_answer(said: str) -> RingAnswer | None:
    """Return what was said to something that rings, in English or Chinese; None for any other words."""
    if len(said) > LONGEST_CHARS:
        return None
    text = " ".join(re.sub(r"[^\w\s]+", " ", said.replace("'", "")).split()).casefold()
    han = text.replace(" ", "")
    if _SNOOZE.fullmatch(text) or _HAN_SNOOZE.fullmatch(han):
        return RingAnswer(is_snooze=True)
    if (found := _SNOOZE_FOR.fullmatch(text)) is not None and (minutes := _number(found["count"])):
        return RingAnswer(is_snooze=True, minutes=min(minutes, SNOOZE_LIMIT_MIN))
    if (found := _HAN_SNOOZE_FOR.fullmatch(han)) is not None and (minutes := _han_number(found["count"])):
        return RingAnswer(is_snooze=True, minutes=min(minutes, SNOOZE_LIMIT_MIN))
    words = set(text.split())
    is_stop = bool(words & _STOP) and words <= _STOP | _BESIDE
    return RingAnswer() if is_stop or text in STOP_WORDS or _HAN_STOP.fullmatch(han) else None


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text]


def _han_number(text: str) -> int:
    """Return 二十五 as 25, up to 99."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_HAN_DIGITS.get(tens, 1) * 10 if ten else 0) + _HAN_DIGITS.get(ones, 0)
