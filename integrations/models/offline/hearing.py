"""Prepares a sentence for recognition: normalised spelling, no polite phrases, keywords corrected.

Pure functions. The compared and the original text have the same length, so that the original is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.memory.traditional import simplified_characters

ENDS = " \t\r\n?？!！。.…~～;；,，"
"""What may stand around a sentence and means nothing."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_MARKS = dict(zip(map(ord, "\u3000’‘；;—"), "\u0020'',,-", strict=True))
_ONE_WAY: dict[int, int | str] = {**simplified_characters(), **_FULL_WIDTH, **_MARKS}
_ASKS = re.compile(r"[?？][\s\"'”」]*\Z")


class HeardSentence(Struct, frozen=True):
    """A sentence.

    Attributes:
        plain: The compared form: half width, simplified characters, straight apostrophes.
        said: As written; as long as `plain`.
    """

    plain: str
    said: str

    def cut(self, begin: int, end: int) -> HeardSentence:
        """Return a part of it, stripped."""
        part = self.plain[begin:end]
        begin += len(part) - len(part.lstrip(ENDS))
        end -= len(part) - len(part.rstrip(ENDS))
        return HeardSentence(self.plain[begin:end], self.said[begin:end])


class Hearing:
    """Prepares sentences of one language.

    Args:
        words: `asides: {before, after, behind}`, patterns around a sentence, the last of which may be one of its own,
            and `typos`, how a keyword is misspelled.
    """

    def __init__(self, words: Mapping[str, Any]) -> None:
        asides: Mapping[str, Sequence[str]] = words["asides"]
        self._before = re.compile(rf"(?:{'|'.join(asides['before'])})[\s,:!.]*", re.IGNORECASE)
        self._after = re.compile(rf"[\s,!.]*(?:{'|'.join(asides['after'])})\Z", re.IGNORECASE)
        self._pause = re.compile(rf"[.!;,:。](?=\s*(?:{'|'.join(asides['behind'])})\W*\Z)", re.IGNORECASE)
        self._right = {wrong: right for right, wrongs in words["typos"].items() for wrong in wrongs}
        # The first keyword alone is looked at: what follows it is what somebody wants kept as it is.
        known = "|".join(sorted({*self._right, *words["typos"]}, key=len, reverse=True))
        edge = "" if re.search(r"[\u3400-\u9fff]", known) else r"\b"
        self._keyword = re.compile(rf"{edge}(?:{known}){edge}", re.IGNORECASE)

    def hear(self, text: str) -> HeardSentence:
        """Return a sentence ready to be recognised."""
        said = " ".join(text.split())
        heard = HeardSentence(self._pause.sub("_", plain(said)), said)
        heard = heard.cut(0, len(said))
        first = self._keyword.search(heard.plain)
        right = self._right.get(first[0].casefold()) if first is not None else None
        if first is None or right is None:
            return heard
        begin, end = first.span()
        return HeardSentence(*(f"{each[:begin]}{right}{each[end:]}" for each in (heard.plain, heard.said)))

    def bare(self, heard: HeardSentence) -> HeardSentence:
        """Return it without the asides around it; as it is when nothing would be left."""
        while True:
            begin, end = 0, len(heard.plain)
            if match := self._before.match(heard.plain):
                begin = match.end()
            elif match := self._after.search(heard.plain):
                end = match.start()
            bare = heard.cut(begin, end)
            if not bare.plain or bare == heard:
                return heard
            heard = bare


def plain(text: str) -> str:
    """Return a text in its compared form, but for case; of the same length."""
    return text.translate(_ONE_WAY)


def ends_as_question(text: str) -> bool:
    """Whether a sentence ends like a question."""
    return _ASKS.search(text) is not None
