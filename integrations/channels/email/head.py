"""The head of an e-mail, taken apart by its grammar alone (RFC 5322) and within bounds. Pure.

It is read before anybody knows who wrote: no library that guesses has a part in it, and its time grows with its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

HEAD_LIMIT_BYTES = 262_144
FROM_LIMIT = 2_000
_FIELD = re.compile(r"([!-9;-~]{1,200})[ \t]*:(.*)", re.DOTALL)
_BREAKS = re.compile(r"[\r\0]")
_TELLS_WHO = re.compile(r"(?:from|authentication-results)[^!-~]*:", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s@<>\"(),:;\[\]\\]{1,128}@[A-Za-z0-9.-]{1,253}")
_WORD_OF_NAME = re.compile(r"[^\s\"()<>@,:;\\\x00-\x1f\x7f]+")
_SPACE = re.compile(r"[ \t]+")
_IN_COMMENT = re.compile(r"[^()\\]+")
_IN_QUOTES = re.compile(r"[^\"\\]+")


class NotGrammatical(ValueError):
    """A text that is not what its grammar allows."""


class HeaderText:
    """A position in a header's text: returns what comes next, passing over comments and spaces."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._text)

    def sees(self, sign: str) -> bool:
        """Whether a character comes next."""
        return self._text.startswith(sign, self._at)

    def passes(self, sign: str) -> bool:
        """Pass over a sign; return whether it was there."""
        found = self.sees(sign)
        self._at += len(sign) if found else 0
        return found

    def take(self, pattern: re.Pattern[str]) -> str:
        """Match a pattern here and return the match.

        Raises:
            NotGrammatical: It finds nothing.
        """
        found = pattern.match(self._text, self._at)
        if found is None:
            raise NotGrammatical(self._text[self._at : self._at + 40])
        self._at = found.end()
        return found[0]

    def gap(self) -> bool:
        """Pass over spaces and comments, which may be nested; return whether there were any."""
        begun, depth = self._at, 0
        while not self.at_end:
            if self.passes("("):
                depth += 1
            elif depth and self.passes(")"):
                depth -= 1
            elif depth and self.passes("\\"):
                self._escaped()
            elif (found := (_IN_COMMENT if depth else _SPACE).match(self._text, self._at)) is not None:
                self._at = found.end()
            else:
                break
        if depth:
            raise NotGrammatical("a comment has no end")
        return self._at > begun

    def quoted_string(self) -> str:
        """Return the value of a quoted string."""
        if not self.passes('"'):
            raise NotGrammatical("expected a quoted string")
        said: list[str] = []
        while not self.passes('"'):
            said.append(self._escaped() if self.passes("\\") else self.take(_IN_QUOTES))
        return "".join(said)

    def _escaped(self) -> str:
        if self.at_end:
            raise NotGrammatical("a backslash ends the text")
        self._at += 1
        return self._text[self._at - 1]


class MailHead(Struct, frozen=True):
    """The fields of a head, topmost first: names in lower case, and their unfolded values as received."""

    fields: tuple[tuple[str, str], ...] = ()

    def all(self, name: str) -> list[str]:
        """Return the values of all fields of a name."""
        return [value for each, value in self.fields if each == name]

    def first(self, name: str) -> str:
        """Return the value of the topmost field of a name; empty if there is none."""
        return next(iter(self.all(name)), "")

    def sender(self) -> str | None:
        """Return the address in From, in lower case; None when there is not exactly one, or it is not a plain one."""
        stated = self.all("from")
        if len(stated) != 1 or len(stated[0]) > FROM_LIMIT:
            return None
        for form in (_bare, _named):
            try:
                address = form(HeaderText(stated[0]))
            except NotGrammatical:
                continue
            return None if "=?" in address else address.lower()
        return None


def read_head(raw: bytes) -> MailHead | None:
    """Return a head, with or without the mail below it; None when it is too long, or its author cannot be determined.

    A field that the grammar does not allow is left out, unless it may hide who wrote or who vouches for them.
    """
    lines: list[list[str]] = []
    whole = raw[:HEAD_LIMIT_BYTES].split(b"\n")
    for number, each in enumerate(whole):
        line = each.removesuffix(b"\r").decode("utf-8", "replace")
        if not line and (number < len(whole) - 1 or len(raw) <= HEAD_LIMIT_BYTES):
            break
        if line[:1] in " \t" and lines:
            lines[-1].append(line)
        else:
            lines.append([line])
    else:
        if len(raw) > HEAD_LIMIT_BYTES:
            return None
    fields: list[tuple[str, str]] = []
    for text in map("".join, lines):
        found = _FIELD.fullmatch(text)
        if found is not None and _BREAKS.search(text) is None:
            fields.append((found[1].lower(), found[2].strip(" \t")))
        elif _TELLS_WHO.search(text) is not None:
            return None
    return MailHead(tuple(fields))


def _bare(words: HeaderText) -> str:
    words.gap()
    return _at_the_end(words, words.take(_ADDRESS))


def _named(words: HeaderText) -> str:
    words.gap()
    while not words.passes("<"):
        name: Callable[[], str] = words.quoted_string if words.sees('"') else lambda: words.take(_WORD_OF_NAME)
        name()
        words.gap()
    words.gap()
    address = words.take(_ADDRESS)
    words.gap()
    if not words.passes(">"):
        raise NotGrammatical("no > behind the address")
    return _at_the_end(words, address)


def _at_the_end(words: HeaderText, found: str) -> str:
    words.gap()
    if not words.at_end:
        raise NotGrammatical("text follows the address")
    return found
