"""Builds texts by joining, padding, replacing and formatting, within length limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from string import Formatter
from typing import Any

from hub.template.work import BoundReached, Exposed, Work

WIDTH_LIMIT = 1_000
"""Most columns that a text is padded to, indented by, or a number is printed with."""
FORMATTED_CHARS = 1_000_000
"""What a format may give at most, judged before it is made."""
TIME_FORMAT_CHARS = 256

_SIZES = re.compile(r"[-#0 +\d.*]*")
_NUMBERS = re.compile(r"\d+")
_PADDED_TIME = re.compile(r"%[-_0^#]*\d")


class Formats:
    """Makes texts within the bounds of the rendering under way.

    Args:
        work: The work of the rendering under way.
        look_up: Reads an attribute or an element by the rules of the sandbox: `(value, name, is_attribute)`.
        text: Turns any value into the text that printing it gives.
    """

    def __init__(
        self, work: Callable[[], Work], look_up: Callable[[Any, Any, bool], Any], text: Callable[[Any], str]
    ) -> None:
        self._work = work
        self._look_up = look_up
        self._text = text

    def width(self, width: Any) -> int:
        """A number of columns within reason."""
        number = int(width)
        if abs(number) > WIDTH_LIMIT:
            raise BoundReached(f"a width is more than {WIDTH_LIMIT} columns")
        return number

    def room_for(self, chars: int) -> None:
        """Refuse a text that would be too long, before it is made."""
        self._work().room_for(chars)

    def join(self, items: Iterable[Any], separator: Any = "") -> str:
        """The items as texts, one after the other."""
        texts, between, work = [], self._text(separator), self._work()
        chars = 0
        for item in items:
            piece = item if isinstance(item, str) else self._text(item)
            chars += len(piece) + len(between)
            work.step()
            work.room_for(chars - len(between))
            texts.append(piece)
        return between.join(texts)

    def replace(self, text: Any, old: Any, new: Any, count: int = -1) -> str:
        """The text with `old` replaced, at most `count` times."""
        whole, gone, come = self._text(text), self._text(old), self._text(new)
        found = whole.count(gone) if count < 0 else min(whole.count(gone), count)
        self._work().room_for(len(whole) + found * (len(come) - len(gone)))
        return whole.replace(gone, come, found)

    def percent(self, form: str, args: Any) -> str:
        """`form % args`, with widths within reason."""
        for sizes in _sizes_of_percent(form):
            if "*" in sizes:
                raise BoundReached("a width from an argument (`*`) is not possible in a format")
            for number in _NUMBERS.findall(sizes):
                self.width(number)
        self._judge(form.count("%"), args)
        return str(form % self._printable(args))

    def braces(self, form: str, args: tuple[Any, ...], named: Any) -> str:
        """`form.format(*args, **named)` by the rules of the sandbox."""
        if not isinstance(named, Mapping):
            raise TypeError("format_map takes a mapping")
        self._judge(form.count("{"), (*args, *named.values()))
        return str(_Braces(self, self._look_up).vformat(form, args, named))

    def field(self, value: Any, spec: str) -> str:
        """One value by one format specification."""
        if isinstance(value, date | time):
            return self.moment(value, spec) if spec else str(value)
        for number in _NUMBERS.findall(spec):
            self.width(number)
        if not isinstance(value, str | int | float | complex):
            value = self._text(value)
        return format(value, spec)

    def moment(self, value: date | time | datetime, form: Any) -> str:
        """`strftime` with a format within reason."""
        form = str(form)
        if len(form) > TIME_FORMAT_CHARS or _PADDED_TIME.search(form):
            raise BoundReached(f"a time format has at most {TIME_FORMAT_CHARS} characters, and no widths in it")
        return value.strftime(form)

    def _judge(self, places: int, args: Any) -> None:
        self._work().weigh(args)
        longest = self._work().seen_chars + WIDTH_LIMIT // 10
        if places * longest > FORMATTED_CHARS:
            raise BoundReached(f"a format could give more than {FORMATTED_CHARS} characters")

    def _printable(self, args: Any) -> Any:
        """Arguments of `%`, with everything that is not a number as its text."""
        if isinstance(args, Mapping):
            return {key: self._one(value) for key, value in args.items()}
        if isinstance(args, tuple):
            return tuple(self._one(value) for value in args)
        return (self._one(args),)

    def _one(self, value: Any) -> Any:
        return value if isinstance(value, str | int | float) and not isinstance(value, Exposed) else self._text(value)


def _sizes_of_percent(form: str) -> Iterator[str]:
    """The flags, width and precision of each place in a `%` format, with names in nested brackets passed over."""
    place = form.find("%")
    while place >= 0:
        place += 1
        if form[place : place + 1] == "(":
            depth = 0
            while place < len(form):
                depth += {"(": 1, ")": -1}.get(form[place], 0)
                place += 1
                if not depth:
                    break
        if found := _SIZES.match(form, place):
            yield found.group()
            place = found.end()
        place = form.find("%", place + 1)


class _Braces(Formatter):
    """The formatter of `str.format`, with every step through the sandbox."""

    def __init__(self, formats: Formats, look_up: Callable[[Any, Any, bool], Any]) -> None:
        self._formats = formats
        self._look_up = look_up

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, *rest = re.findall(r"\.[^.\[\]]+|\[[^\]]*\]|^[^.\[]*", field_name) or [""]
        value = self.get_value(int(first) if first.isdecimal() else first, args, kwargs)
        for step in rest:
            if step.startswith("."):
                value = self._look_up(value, step[1:], True)
            else:
                key = step[1:-1]
                value = self._look_up(value, int(key) if key.isdecimal() else key, False)
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        return self._formats.field(value, format_spec)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion is None:
            return value
        text = self._formats._text(value)
        return repr(text) if conversion in {"r", "a"} and isinstance(value, str) else text

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        """Unused arguments are fine."""
