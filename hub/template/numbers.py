"""Numbers in templates: reading them, rounding, statistics, trigonometry and bits."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import Undefined, UndefinedError

from hub.template.work import BoundReached

NO_DEFAULT: Any = object()
PRECISION_LIMIT = 100
"""Most decimals that a number is rounded to."""
_FALSE = frozenset({"0", "false", "no", "off", "disable"})
_TRUE = frozenset({"1", "true", "yes", "on", "enable"})


def or_default(function: str, value: Any, default: Any) -> Any:
    """The default; without one, the error that names the function and its input.

    Raises:
        ValueError: There is no default.
    """
    if default is not NO_DEFAULT:
        return default
    if isinstance(value, Undefined):
        return value._fail_with_undefined_error()
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
    raise ValueError(f"{function} got {shown}, which it cannot use, and no default was given")


def to_float(value: Any, default: Any = NO_DEFAULT) -> Any:
    """A number with decimals."""
    try:
        return float(value)
    except (ValueError, TypeError, UndefinedError):
        return or_default("float", value, default)


def to_int(value: Any, default: Any = NO_DEFAULT, base: int = 10) -> Any:
    """A whole number; decimals are cut off."""
    try:
        if isinstance(value, str) and (base != 10 or value.strip().lstrip("+-").isdecimal()):
            return int(value, base)
        return int(value) if isinstance(value, int) else int(float(value))
    except (ValueError, TypeError, OverflowError, UndefinedError):
        return or_default("int", value, default)


def to_bool(value: Any, default: Any = NO_DEFAULT) -> Any:
    """`true`, `yes`, `on`, `enable`, `1` and numbers other than 0; the opposites; nothing else."""
    if isinstance(value, bool | int | float):
        return value != 0
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    return or_default("bool", value, default)


def is_number(value: Any) -> bool:
    """Whether `float` can read it and it is neither infinite nor `nan`."""
    try:
        return math.isfinite(float(value))
    except (ValueError, TypeError, OverflowError, UndefinedError):
        return False


def round_number(value: Any, precision: int = 0, method: str = "common", default: Any = NO_DEFAULT) -> Any:
    """Rounded to a number of decimals; `ceil`, `floor` and `half` are the other methods."""
    places = int(precision)
    if abs(places) > PRECISION_LIMIT:
        raise BoundReached(f"a number is rounded to more than {PRECISION_LIMIT} decimals")
    try:
        number, factor = float(value), 10**places
        match method:
            case "ceil":
                rounded = math.ceil(number * factor) / factor
            case "floor":
                rounded = math.floor(number * factor) / factor
            case "half":
                rounded = round(number * 2) / 2
            case "common" | "even":
                rounded = round(number, places)
            case _:
                raise BoundReached(f"round knows common, ceil, floor and half, not {method}")
        return int(rounded) if places == 0 else rounded
    except (ValueError, TypeError, OverflowError, UndefinedError):
        return or_default("round", value, default)


def add(value: Any, amount: Any, default: Any = NO_DEFAULT) -> Any:
    """The sum of two numbers."""
    return _by(lambda number: float(number) + _number(amount), "add", value, default)


def multiply(value: Any, amount: Any, default: Any = NO_DEFAULT) -> Any:
    """The product of two numbers."""
    return _by(lambda number: float(number) * _number(amount), "multiply", value, default)


def logarithm(value: Any, base: Any = math.e, default: Any = NO_DEFAULT) -> Any:
    """The logarithm, natural unless a base is given."""
    return _by(lambda number: math.log(number, float(base)), "log", value, default)


def arc_tangent_2(*args: Any, default: Any = NO_DEFAULT) -> Any:
    """The angle of a point given as `y, x` or as a list of both."""
    values = list(args[0]) if args and isinstance(args[0], list | tuple) else list(args)
    if isinstance(args[0] if args else None, list | tuple) and len(args) == 2:
        default = args[1]
    elif len(values) == 3:
        default = values.pop()
    try:
        y, x = values
        return math.atan2(float(y), float(x))
    except (ValueError, TypeError):
        return or_default("atan2", tuple(values), default)


def clamp(value: Any, minimum: Any, maximum: Any) -> Any:
    """The value, but no less than the minimum and no more than the maximum."""
    return max(min(value, maximum), minimum)


def wrap(value: Any, minimum: Any, maximum: Any) -> Any:
    """The value wrapped into a cyclic range."""
    return ((value - minimum) % (maximum - minimum)) + minimum


def remap(
    value: Any, in_min: Any, in_max: Any, out_min: Any, out_max: Any, *, steps: int = 0, edges: str = "none"
) -> Any:
    """The value mapped from one range to another, in steps if asked; `edges` may `clamp`, `wrap` or `mirror`."""
    if edges == "clamp":
        value = clamp(value, min(in_min, in_max), max(in_min, in_max))
    elif edges == "wrap":
        value = wrap(value, in_min, in_max)
    elif edges == "mirror":
        distance = wrap(value, in_min, in_max + (in_max - in_min))
        value = distance if distance <= in_max else in_max - (distance - in_max)
    elif edges != "none":
        raise ValueError(f"remap knows the edges none, clamp, wrap and mirror, not {edges}")
    share = (value - in_min) / (in_max - in_min)
    if steps:
        share = round(share * steps) / steps
    return out_min + share * (out_max - out_min)


def ordinal(value: Any) -> str:
    """`1st`, `2nd`, `3rd`, `4th`."""
    number = int(value)
    last_two, last = abs(number) % 100, abs(number) % 10
    ending = "th" if 10 < last_two < 14 else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{number}{ending}"


def bitwise_and(first: Any, second: Any) -> int:
    """The bits that both have."""
    return int(first) & int(second)


def bitwise_or(first: Any, second: Any) -> int:
    """The bits that either has."""
    return int(first) | int(second)


def bitwise_xor(first: Any, second: Any) -> int:
    """The bits that one of them has."""
    return int(first) ^ int(second)


def average(*args: Any, default: Any = NO_DEFAULT) -> Any:
    """The mean of a list, or of the arguments."""
    return _of_numbers("average", statistics.fmean, args, default)


def median(*args: Any, default: Any = NO_DEFAULT) -> Any:
    """The middle value of a list, or of the arguments."""
    return _of_numbers("median", statistics.median, args, default)


def statistical_mode(*args: Any, default: Any = NO_DEFAULT) -> Any:
    """The most frequent value of a list, or of the arguments; the first of several."""
    values, default = _values(args, default)
    counted = Counter(values).most_common(1)
    return counted[0][0] if counted else or_default("statistical_mode", values, default)


def total(items: Iterable[Any], start: Any = 0) -> Any:
    """The sum of numbers and durations; with `start=[]`, the items of all lists."""
    if isinstance(start, list):
        return [*start, *(each for item in items for each in _list(item))]
    result = _number(start)
    for item in items:
        result = result + _number(item)
    return result


def _list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected lists to add up, got {value!r:.40}")
    return value


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float | complex) or hasattr(value, "total_seconds") else float(value)


def _by(operation: Callable[[Any], Any], function: str, value: Any, default: Any) -> Any:
    try:
        return operation(_number(value))
    except (ValueError, TypeError, OverflowError, ZeroDivisionError, UndefinedError):
        return or_default(function, value, default)


def _values(args: tuple[Any, ...], default: Any) -> tuple[list[Any], Any]:
    """The values of `f(list)`, `f(list, default)` or `f(a, b, c)`."""
    if not args:
        raise TypeError("at least one value is needed")
    if isinstance(args[0], str | int | float) or not hasattr(args[0], "__iter__"):
        return list(args), default
    return list(args[0]), args[1] if len(args) > 1 else default


def _of_numbers(function: str, operation: Callable[[list[Any]], Any], args: tuple[Any, ...], default: Any) -> Any:
    values, default = _values(args, default)
    try:
        return operation([_number(value) for value in values])
    except (ValueError, TypeError, UndefinedError):
        return or_default(function, values, default)


def _unary(name: str, operation: Callable[[float], float]) -> Callable[..., Any]:
    def function(value: Any, default: Any = NO_DEFAULT) -> Any:
        return _by(lambda number: operation(float(number)), name, value, default)

    return function


_TRIGONOMETRY: dict[str, Callable[..., Any]] = {
    name: _unary(name, getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt")
}
BOTH: Mapping[str, Callable[..., Any]] = {
    **_TRIGONOMETRY,
    "float": to_float,
    "int": to_int,
    "bool": to_bool,
    "is_number": is_number,
    "round": round_number,
    "add": add,
    "multiply": multiply,
    "log": logarithm,
    "atan2": arc_tangent_2,
    "clamp": clamp,
    "wrap": wrap,
    "remap": remap,
    "ordinal": ordinal,
    "bitwise_and": bitwise_and,
    "bitwise_or": bitwise_or,
    "bitwise_xor": bitwise_xor,
    "average": average,
    "median": median,
    "statistical_mode": statistical_mode,
}
"""Each is a function and a filter."""
FILTERS: Mapping[str, Callable[..., Any]] = {"abs": abs}
CONSTANTS: Mapping[str, float] = {
    "e": math.e,
    "pi": math.pi,
    "tau": math.tau,
    "phi": (1 + math.sqrt(5)) / 2,
    "inf": math.inf,
}
