"""Texts in templates: case, padding, codes, digests, JSON and packed bytes."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
import struct
import textwrap
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

from hub.core.slugs import slugify
from hub.template.formatting import Formats
from hub.template.numbers import NO_DEFAULT, or_default
from hub.template.work import BoundReached, Exposed

SLOW_CHARS = 10_000
"""Longer texts are not wrapped, truncated or stripped of tags: these take time."""
PACKED_BYTES = 1_024
"""Most bytes that are packed or unpacked."""
_TAGS = re.compile(r"<[^<>]{0,1000}>")
_WORD = re.compile(r"\w+")
_UNITS = ("k", "M", "G", "T", "P", "E", "Z", "Y")


class Texts:
    """The functions of texts.

    Args:
        text: Turns any value into the text that printing it gives.
        formats: Makes texts within bounds.
    """

    def __init__(self, text: Callable[[Any], str], formats: Formats) -> None:
        self._text = text
        self._formats = formats

    def both(self) -> dict[str, Callable[..., Any]]:
        """Each is a function and a filter."""
        return {
            "base64_encode": self.base64_encode,
            "base64_decode": self.base64_decode,
            "to_json": self.to_json,
            "from_json": self.from_json,
            "slugify": self.slugify,
            "urlencode": self.urlencode,
            "pack": pack,
            "unpack": unpack,
            "ord": ord,
            **{name: self._digest(name) for name in ("md5", "sha1", "sha256", "sha512")},
        }

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Functions that exist as filters alone."""
        simple = {name: self._method(name) for name in ("upper", "lower", "capitalize")}
        escaping = dict.fromkeys(("e", "escape", "forceescape"), lambda value: html.escape(self._text(value)))
        return {
            **simple,
            **escaping,
            "title": self.title,
            "trim": lambda value, chars=None: self._text(value).strip(chars),
            "string": self._text,
            "safe": self._text,
            "center": lambda value, width=80: self._text(value).center(self._formats.width(width)),
            "format": self.format,
            "indent": self.indent,
            "replace": self._formats.replace,
            "striptags": lambda value: html.unescape(" ".join(_TAGS.sub("", self._short(value)).split())),
            "truncate": self.truncate,
            "wordcount": lambda value: len(_WORD.findall(self._text(value))),
            "wordwrap": self.wordwrap,
            "filesizeformat": filesizeformat,
            "tojson": self.to_html_json,
            "pprint": self._text,
        }

    def _method(self, name: str) -> Callable[[Any], str]:
        return lambda value: str(getattr(self._text(value), name)())

    def _short(self, value: Any) -> str:
        text = self._text(value)
        if len(text) > SLOW_CHARS:
            raise BoundReached(f"a text for this filter has more than {SLOW_CHARS} characters")
        return text

    def _digest(self, name: str) -> Callable[[Any], str]:
        return lambda value: hashlib.new(name, self._bytes(value), usedforsecurity=False).hexdigest()

    def _bytes(self, value: Any) -> bytes:
        return value if isinstance(value, bytes) else self._text(value).encode()

    def title(self, value: Any) -> str:
        """Each word with a capital letter."""
        parts = re.split(r"([-\s({\[<]+)", self._text(value))
        return "".join(part[:1].upper() + part[1:].lower() for part in parts)

    def format(self, value: Any, *args: Any, **named: Any) -> str:
        """`%` formatting."""
        if args and named:
            raise TypeError("format takes positional or named values, not both")
        return self._formats.percent(self._text(value), named or args)

    def indent(self, value: Any, width: Any = 4, first: bool = False, blank: bool = False) -> str:
        """Every line but the first moved to the right."""
        space = width[:100] if isinstance(width, str) else " " * self._formats.width(width)
        lines = self._text(value).splitlines(keepends=True)
        self._formats.room_for(len(space) * len(lines))
        moved = [
            line if (number == 0 and not first) or (not blank and not line.strip()) else space + line
            for number, line in enumerate(lines)
        ]
        return self._formats.join(moved)

    def truncate(
        self,
        value: Any,
        length: int = 255,
        killwords: bool = False,
        end: str = "...",
        leeway: int = 5,
    ) -> str:
        """At most `length` characters, cut at a word unless `killwords`."""
        text = self._text(value)
        if len(text) <= length + leeway:
            return text
        cut = text[: max(0, length - len(end))]
        return (cut if killwords else cut.rsplit(" ", 1)[0]) + end

    def wordwrap(
        self,
        value: Any,
        width: int = 79,
        break_long_words: bool = True,
        wrapstring: str = "\n",
        break_on_hyphens: bool = True,
    ) -> str:
        """Lines of at most `width` columns."""
        lines = [
            part
            for line in self._short(value).splitlines()
            for part in textwrap.wrap(
                line,
                width=self._formats.width(width),
                expand_tabs=False,
                replace_whitespace=False,
                break_long_words=break_long_words,
                break_on_hyphens=break_on_hyphens,
            )
            or [""]
        ]
        return self._formats.join(lines, wrapstring)

    def urlencode(self, value: Any) -> str:
        """A text, or the pairs of a mapping, for the query of a URL."""
        if isinstance(value, str | int | float):
            return quote(self._text(value), safe="/")
        pairs = value.items() if isinstance(value, Mapping) else value
        return "&".join(f"{quote_plus(self._text(key))}={quote_plus(self._text(item))}" for key, item in pairs)

    def slugify(self, value: Any, separator: str = "_") -> str:
        """A text in lower case letters and digits, transliterated; `unknown` if nothing is left of it."""
        text = self._short(value)
        return slugify(text, str(separator)[:16]) or ("unknown" if text else "")

    def base64_encode(self, value: Any) -> str:
        """The text or bytes in base 64."""
        return base64.b64encode(self._bytes(value)).decode()

    def base64_decode(self, value: Any, encoding: str | None = "utf-8") -> str | bytes:
        """The decoded text; bytes when the encoding is none."""
        decoded = base64.b64decode(self._bytes(value))
        return decoded.decode("utf-8" if encoding == "utf-8" else "ascii") if encoding else decoded

    def to_json(
        self,
        value: Any,
        ensure_ascii: bool = False,
        pretty_print: bool = False,
        sort_keys: bool = False,
    ) -> str:
        """The value as JSON."""
        options = (orjson.OPT_INDENT_2 if pretty_print else 0) | (orjson.OPT_SORT_KEYS if sort_keys else 0)
        text = orjson.dumps(value, self._for_json, options | orjson.OPT_NON_STR_KEYS).decode()
        if not ensure_ascii:
            return text
        return json.dumps(json.loads(text), indent=2 if pretty_print else None)

    def to_html_json(self, value: Any, indent: int | None = None) -> str:
        """The value as JSON that is safe in HTML."""
        text = self.to_json(value, pretty_print=bool(indent), ensure_ascii=True, sort_keys=True)
        for char in "<>&'":
            text = text.replace(char, f"\\u{ord(char):04x}")
        return text

    def from_json(self, value: Any, default: Any = NO_DEFAULT) -> Any:
        """The value that JSON describes."""
        try:
            return orjson.loads(self._bytes(value))
        except ValueError:
            return or_default("from_json", value, default)

    def _for_json(self, value: Any) -> Any:
        if isinstance(value, set | frozenset | range):
            return list(value)
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, Exposed):
            return self._text(value)
        if hasattr(value, "total_seconds"):
            return value.total_seconds()
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def filesizeformat(value: Any, binary: bool = False) -> str:
    """A number of bytes for people."""
    size, base = float(value), 1024 if binary else 1000
    if size < base:
        return "1 Byte" if size == 1 else f"{int(size)} Bytes"
    for power, letter in enumerate(_UNITS, 2):
        if size < base**power or letter == _UNITS[-1]:
            return f"{base * size / base**power:.1f} {letter.upper() + 'i' if binary else letter}B"
    return f"{size:.0f} Bytes"


def pack(value: Any, format_string: str) -> bytes | None:
    """A number as bytes, by a format of Python's `struct`; none when it does not fit."""
    try:
        _judge_size(format_string)
        return struct.pack(format_string, value)
    except struct.error:
        return None


def unpack(value: Any, format_string: str, offset: int = 0) -> Any:
    """The number that bytes hold, by a format of Python's `struct`; none when they do not."""
    try:
        _judge_size(format_string)
        return struct.unpack_from(format_string, value, offset)[0]
    except (struct.error, IndexError):
        return None


def _judge_size(format_string: str) -> None:
    if len(format_string) > 64 or struct.calcsize(format_string) > PACKED_BYTES:
        raise BoundReached(f"pack takes at most {PACKED_BYTES} bytes")


def pick(items: Any) -> Any:
    """One of the items, by chance."""
    values = list(items)
    return random.choice(values) if values else None  # noqa: S311 - no secret
