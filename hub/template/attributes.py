"""The attributes and methods that templates may use, by the kind of value. What is not listed here does not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from time import struct_time
from typing import Any

from hub.template.formatting import Formats
from hub.template.work import BoundReached, Work

Method = Callable[..., Any]
SEARCH_COST = 20_000_000
"""Product of the lengths in a search from the right, which Python makes in quadratic time."""

_TEXT = frozenset(
    [
        "capitalize",
        "casefold",
        "count",
        "endswith",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
    ]
)
_FROM_RIGHT = frozenset({"rfind", "rindex", "rsplit", "rpartition"})
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (list, frozenset({"count", "index", "copy"})),
    (tuple, frozenset({"count", "index"})),
    (range, frozenset({"count", "index"})),
    (
        (set),
        frozenset(
            {"difference", "intersection", "union", "symmetric_difference", "issubset", "issuperset", "isdisjoint"}
        ),
    ),
    (
        datetime,
        frozenset(
            [
                "timestamp",
                "isoformat",
                "weekday",
                "isoweekday",
                "date",
                "time",
                "timetz",
                "replace",
                "astimezone",
                "utcoffset",
                "tzname",
                "dst",
                "isocalendar",
                "toordinal",
                "ctime",
                "timetuple",
                "utctimetuple",
            ]
        ),
    ),
    (
        date,
        frozenset({"isoformat", "weekday", "isoweekday", "replace", "isocalendar", "toordinal", "ctime", "timetuple"}),
    ),
    (time, frozenset({"isoformat", "replace", "utcoffset", "tzname"})),
    (timedelta, frozenset({"total_seconds"})),
    (float, frozenset({"is_integer", "hex"})),
    (int, frozenset({"bit_length"})),
)
_FIELDS: tuple[tuple[type, frozenset[str]], ...] = (
    (datetime, frozenset(["year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo", "fold"])),
    (date, frozenset({"year", "month", "day"})),
    (time, frozenset({"hour", "minute", "second", "microsecond", "tzinfo"})),
    (timedelta, frozenset({"days", "seconds", "microseconds"})),
    (int, frozenset({"real", "imag", "numerator", "denominator"})),
    (float, frozenset({"real", "imag"})),
    (complex, frozenset({"real", "imag"})),
    (
        struct_time,
        frozenset(
            ["tm_year", "tm_mon", "tm_mday", "tm_hour", "tm_min", "tm_sec", "tm_wday", "tm_yday", "tm_isdst", "tm_zone"]
        ),
    ),
    (type(date(2000, 1, 1).isocalendar()), frozenset({"year", "week", "weekday"})),
)
NOTHING = object()


class Attributes:
    """Looks attributes up.

    Args:
        work: The work of the rendering under way.
        formats: How texts are formatted.
    """

    def __init__(self, work: Callable[[], Work], formats: Formats) -> None:
        self._work = work
        self._formats = formats

    def field(self, value: Any, name: str) -> Any:
        """A plain attribute, or NOTHING."""
        for kind, names in _FIELDS:
            if isinstance(value, kind):
                return getattr(value, name) if name in names else NOTHING
        return NOTHING

    def method(self, value: Any, name: str) -> Method | None:
        """A method as a function that takes the remaining arguments, or None."""
        if isinstance(value, str):
            return self._of_text(value, name)
        if isinstance(value, Mapping):
            return _of_mapping(value, name)
        if name == "strftime" and isinstance(value, date | time):
            return lambda form: self._formats.moment(value, form)
        if name == "decode" and isinstance(value, bytes):
            return value.decode
        for kind, names in _METHODS:
            if isinstance(value, kind):
                return getattr(value, name) if name in names else None
        return None

    def _of_text(self, value: str, name: str) -> Method | None:
        if name in _TEXT:
            return getattr(value, name)  # type: ignore[no-any-return]
        if name in _PADDING:
            return lambda width, *fill: getattr(value, name)(self._formats.width(width), *fill)
        if name in _FROM_RIGHT:
            return lambda *args, **named: self._from_right(value, name, args, named)
        match name:
            case "replace":
                return lambda old, new, count=-1: self._formats.replace(value, old, new, count)
            case "join":
                return lambda items: self._formats.join(items, value)
            case "format":
                return lambda *args, **named: self._formats.braces(value, args, named)
            case "format_map":
                return lambda mapping: self._formats.braces(value, (), mapping)
        return None

    def _from_right(self, value: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        sought = args[0] if args else named.get("sep")
        if isinstance(sought, str) and len(sought) > 1 and len(sought) * len(value) > SEARCH_COST:
            raise BoundReached("a search from the right takes a shorter text")
        self._work().step(len(value) // 32 * max(1, len(sought) if isinstance(sought, str) else 1) // 8)
        return getattr(value, name)(*args, **named)


MAPPING_METHODS = frozenset({"items", "keys", "values", "get", "copy"})


def _of_mapping(value: Mapping[Any, Any], name: str) -> Method | None:
    match name:
        case "items":
            return lambda: list(value.items())
        case "keys":
            return lambda: list(value)
        case "values":
            return lambda: list(value.values())
        case "get":
            return value.get
        case "copy":
            return lambda: dict(value)
    return None
