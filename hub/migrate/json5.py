"""Reads JSON5, as OpenClaw writes its configuration: comments, bare keys, single quotes, commas at the end. Pure."""

from __future__ import annotations

import re
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase

DEPTH_LIMIT = 64
_SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_KEY = re.compile(r"[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:(?:0|[1-9]\d*)\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
)
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\(?:.|\r?\n))*\"|'(?:[^'\\\n]|\\(?:.|\r?\n))*'", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS = {"true": True, "false": False, "null": None}


def read_json5(text: str, name: str) -> Any:
    """Return the value of a text.

    Args:
        name: Of its file, for errors.

    Raises:
        InvalidRequest: It is not JSON5; the message names the line.
    """
    return _Reader(text, name).read()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._at = 0

    def read(self) -> Any:
        value = self._value(0)
        self._space()
        if self._at != len(self._text):
            raise self._wrong()
        return value

    def _value(self, depth: int) -> Any:
        if depth > DEPTH_LIMIT:
            raise self._wrong()
        self._space()
        sign = self._text[self._at : self._at + 1]
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign in ('"', "'"):
            return self._string()
        if found := _NUMBER.match(self._text, self._at):
            self._at = found.end()
            return self._number(found[0])
        if (word := _KEY.match(self._text, self._at)) and word[0] in _WORDS:
            self._at = word.end()
            return _WORDS[word[0]]
        raise self._wrong()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while not self._ends("}"):
            if self._text[self._at : self._at + 1] in ('"', "'"):
                key = self._string()
            elif bare := _KEY.match(self._text, self._at):
                key, self._at = bare[0], bare.end()
            else:
                raise self._wrong()
            self._space()
            self._take(":")
            found[key] = self._value(depth + 1)
            self._comma("}")
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._ends("]"):
            found.append(self._value(depth + 1))
            self._comma("]")
        return found

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        return _ESCAPE.sub(_unescaped, found[0][1:-1])

    def _number(self, text: str) -> float:
        bare = text.lstrip("+-")
        if bare.lower().startswith("0x"):
            return int(bare, 16) * (-1 if text.startswith("-") else 1)
        if bare in ("Infinity", "NaN"):
            raise self._wrong()
        return int(text) if bare.isdigit() else float(text)

    def _ends(self, sign: str) -> bool:
        self._space()
        if self._text[self._at : self._at + 1] != sign:
            return False
        self._at += 1
        return True

    def _comma(self, end: str) -> None:
        self._space()
        if self._text[self._at : self._at + 1] != end:
            self._take(",")

    def _take(self, sign: str) -> None:
        if self._text[self._at : self._at + 1] != sign:
            raise self._wrong()
        self._at += 1

    def _space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at

    def _wrong(self) -> InvalidRequest:
        line = self._text.count("\n", 0, self._at) + 1
        return InvalidRequest(phrase("{name} is not valid JSON5 in line {line}", name=self._name, line=line))


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1 and escape[0] in "ux":
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)
