"""Numbers with their units, and colours, as people say them in English and Chinese. Pure functions."""

from __future__ import annotations

import re

from integrations.models.offline.chinese_times import han_number

_QUANTITY = re.compile(
    r"(?P<number>-?\d+(?:[.,]\d+)?|[零〇一二三四五六七八九两十百]+)\s*"
    r"(?P<unit>%|percent|per cent|k|kelvin|°\s*[cf]?|degrees?(?: celsius| fahrenheit| c| f)?|摄氏度|华氏度|度)?",
    re.IGNORECASE,
)
_OF_A_HUNDRED = re.compile(r"百分之(?P<number>\d+(?:\.\d+)?|[零〇一二三四五六七八九两十百]+)")
_SMALL = """
zero one two three four five six seven eight nine ten
eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
_WORD_NUMBERS = {word: number for number, word in enumerate(_SMALL.split())} | {
    word: 10 * number for number, word in enumerate(_TENS.split(), 2)
}
_WORD_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS.split()[:-1])})[ -])?(?:a |one )?(?P<ones>{'|'.join(_WORD_NUMBERS)})\b",
    re.IGNORECASE,
)
_WHOLE = {
    **dict.fromkeys(
        (
            "max",
            "maximum",
            "full",
            "full brightness",
            "the maximum",
            "highest",
            "the highest",
            "maximum brightness",
            "最大",
            "最亮",
            "最高",
            "全开",
        ),
        "100%",
    ),
    **dict.fromkeys(
        ("min", "minimum", "the minimum", "lowest", "the lowest", "minimum brightness", "最小", "最暗", "最低"), "1%"
    ),
    **dict.fromkeys(("half", "一半", "50 percent", "半开"), "50%"),
}
_COLORS = re.compile(
    r"(?:warm|cool|cold|neutral) white|daylight|red|green|blue|yellow|orange|purple|violet|pink|white|turquoise|cyan"
    r"|magenta|brown|teal|gold|black"
    r"|[红绿蓝黄橙紫粉白青棕金黑]色?|[暖冷]白色?|[暖冷]光|粉红色?|橘色|自然光|日光",
    re.IGNORECASE,
)


def is_quantity(text: str) -> bool:
    """Whether a text is a number, with or without a unit, or a colour."""
    return bool(_COLORS.fullmatch(text.strip())) or text.strip().casefold() in _WHOLE or _quantity(text) is not None


def has_unit(text: str) -> bool:
    """Whether a text is a quantity that says of what, or a colour: `50%`, `21 degrees`, `red`."""
    return is_quantity(text) and not value_of(text).lstrip("-").replace(".", "", 1).isdigit()


def value_of(text: str) -> str:
    """Return a value as the tool takes it: `50%`, `21`, `red`, or the words as they are."""
    said = text.strip().strip("\"'“”")
    if (whole := _WHOLE.get(said.casefold())) is not None:
        return whole
    found = _quantity(said)
    return found if found is not None else said


def _quantity(text: str) -> str | None:
    said = text.strip().casefold()
    if (share := _OF_A_HUNDRED.fullmatch(said)) is not None:
        return f"{_number(share['number'])}%"
    said = re.sub(r"(?<=\d) point (?=\d)", ".", _WORD_NUMBER.sub(lambda match: str(_words(match)), said))
    match = _QUANTITY.fullmatch(said)
    if match is None:
        return None
    unit = (match["unit"] or "").strip()
    if unit in ("percent", "per cent"):
        unit = "%"
    elif unit in ("k", "kelvin"):
        unit = "K"
    elif unit:
        unit = unit if unit == "%" else "°"
    return f"{_number(match['number'])}{unit}"


def _words(match: re.Match[str]) -> int:
    ones = _WORD_NUMBERS[match["ones"].lower()]
    return ones + (_WORD_NUMBERS[match["tens"].lower()] if match["tens"] else 0)


def _number(text: str) -> str:
    return text.replace(",", ".") if text.lstrip("-")[0].isdigit() else str(han_number(text))
