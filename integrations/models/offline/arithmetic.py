"""Sums as people write them, worked out exactly and within bounds.

A small recursive-descent parser over numbers, + - * / ^ %, brackets and the words for them in English and Chinese; no
Python is evaluated.
"""

from __future__ import annotations

import re
from fractions import Fraction

LENGTH_LIMIT = 200
DEPTH_LIMIT = 30
EXPONENT_LIMIT = 256
DIGIT_LIMIT = 400
SHOWN_DECIMALS = 10

_WORDS = (
    (r"divided\s+by|除以", "/"),
    (r"multiplied\s+by|times|乘以|乘|×|⋅|·", "*"),
    (r"plus|加上|加|＋", "+"),
    (r"minus|减去|减|－|−|–", "-"),
    (r"÷", "/"),
    (r"to\s+the\s+power\s+of|\*\*|的次方", "^"),
    (r"squared|的平方", "^2"),
    (r"cubed|的立方", "^3"),
    (r"percent|％", "%"),
    (r"（", "("),
    (r"）", ")"),
)
_TOKEN = re.compile(r"\s*(?:(\d+(?:[.,]\d+)*(?:\.\d+)?|\.\d+)|(of\b|x\b|[-+*/^%()]))", re.IGNORECASE)


class NotASum(ValueError):
    """The text is not a sum, or not one that can be worked out."""


def work_out(text: str) -> str:
    """Return the value of a sum, as a number people read.

    Raises:
        NotASum: It is none, it divides by zero, or it grows past the bounds.
    """
    tokens = _tokens(text)
    if not any(sign in "+-*/^%" or sign == "of" for sign in tokens[1:]):
        raise NotASum(text)
    parser = _Parser(tokens)
    value = parser.sum(0)
    if parser.rest():
        raise NotASum(text)
    return _show(value)


def _tokens(text: str) -> list[str]:
    if len(text) > LENGTH_LIMIT:
        raise NotASum("too long")
    text = text.strip().rstrip("=？? ").strip()
    for words, sign in _WORDS:
        text = re.sub(words, f" {sign} ", text, flags=re.IGNORECASE)
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            if text[position:].isspace():
                break
            raise NotASum(text)
        number, sign = match.groups()
        tokens.append(_plain(number) if number else "*" if sign.lower() == "x" else sign.lower())
        position = match.end()
    if not tokens:
        raise NotASum(text)
    return tokens


def _plain(number: str) -> str:
    """Read 1,234.5 and 3,5: a comma before exactly three digits groups, any other is a decimal point."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", number):
        return number.replace(",", "")
    if re.fullmatch(r"\d+,\d+", number):
        return number.replace(",", ".")
    if re.fullmatch(r"\d*\.?\d+", number):
        return number
    raise NotASum(number)


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def rest(self) -> bool:
        return self._at < len(self._tokens)

    def sum(self, depth: int) -> Fraction:
        value = self._product(depth)
        while self._peek() in ("+", "-"):
            sign = self._take()
            right = self._product(depth)
            value = value + right if sign == "+" else value - right
        return _bounded(value)

    def _product(self, depth: int) -> Fraction:
        value = self._signed(depth)
        while self._peek() in ("*", "/", "of"):
            sign = self._take()
            right = self._signed(depth)
            if sign == "/" and right == 0:
                raise NotASum("division by zero")
            value = _bounded(value / right if sign == "/" else value * right)
        return value

    def _signed(self, depth: int) -> Fraction:
        if depth > DEPTH_LIMIT:
            raise NotASum("too deep")
        if self._peek() in ("+", "-"):
            sign = self._take()
            value = self._signed(depth + 1)
            return value if sign == "+" else -value
        return self._power(depth)

    def _power(self, depth: int) -> Fraction:
        base = self._atom(depth)
        if self._peek() != "^":
            return base
        self._take()
        exponent = self._signed(depth + 1)
        if exponent.denominator != 1 or abs(exponent) > EXPONENT_LIMIT or (base == 0 and exponent < 0):
            raise NotASum("no such power")
        return _bounded(Fraction(base ** int(exponent)))

    def _atom(self, depth: int) -> Fraction:
        symbol = self._take()
        if symbol == "(":
            value = self.sum(depth + 1)
            if self._take() != ")":
                raise NotASum("a bracket is missing")
        elif re.fullmatch(r"\d*\.?\d+", symbol):
            value = Fraction(symbol)
        else:
            raise NotASum(symbol)
        while self._peek() == "%":
            self._take()
            value /= 100
        return value

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            raise NotASum("it ends too soon")
        self._at += 1
        return token


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > DIGIT_LIMIT * 4 or value.denominator.bit_length() > DIGIT_LIMIT * 4:
        raise NotASum("too large")
    return value


def _show(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    scale = 10**SHOWN_DECIMALS
    rounded = round(value * scale)
    sign = "-" if rounded < 0 else ""
    whole, decimals = divmod(abs(rounded), scale)
    shown = f"{sign}{whole}.{decimals:0{SHOWN_DECIMALS}d}".rstrip("0").rstrip(".")
    return shown if Fraction(shown) == value else f"≈ {shown}"
