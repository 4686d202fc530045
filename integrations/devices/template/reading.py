"""How what templates give becomes values; what cannot be used raises `ValueError` with what was expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import Optional, boolean, show
from integrations.devices.template.contract import Read, Settings, TemplateField, Values

NOTHING = (None, "None", "", "none")
ON = frozenset({"true", "on"})


OPTIMISTIC: Mapping[Any, Any] = {
    Optional("optimistic", description="Whether it is at once what it was set to."): boolean
}


def assumes(settings: Settings) -> bool:
    """Whether one is at once what it was set to: as it says, or when nothing else says what it is."""
    return bool(settings.get("optimistic", "state" not in settings))


class Unchanged(ValueError):
    """A result cannot be used, and what was there before stays."""


def field(key: str, check: Callable[[Any], Any], *, failed: Any = None, **rest: Any) -> TemplateField:
    """Return a template whose result is one value of that name."""
    return TemplateField(one(key, check), {key: failed}, **rest)


def one(key: str, check: Callable[[Any], Any]) -> Read:
    """Return what reads one value."""

    def read(result: Any, settings: Settings, values: Values) -> Values:
        return {key: check(result)}

    return read


def wrong(expected: str, got: Any) -> ValueError:
    """Return the error for a result that cannot be used."""
    return ValueError(phrase("expected {what}, got {value}", what=expected, value=show(got)))


def number(result: Any) -> float:
    """Return a number."""
    try:
        return float(result)
    except (TypeError, ValueError):
        raise wrong(phrase("a number"), result) from None


def within(low: float, high: float) -> Callable[[Any], float | None]:
    """Return what reads a number between two, or nothing."""

    def read(result: Any) -> float | None:
        if result in NOTHING:
            return None
        found = number(result)
        if not low <= found <= high:
            raise wrong(phrase("a number from {low} to {high}", low=f"{low:g}", high=f"{high:g}"), result)
        return found

    return read


def text(result: Any) -> str:
    """Return text; a list or mapping is none."""
    if result is None or isinstance(result, list | tuple | Mapping):
        raise wrong(phrase("text"), result)
    return str(result)


def texts(result: Any) -> list[str]:
    """Return a list of texts."""
    return [text(each) for each in (result if isinstance(result, list | tuple) else [result])]


def is_on(result: Any) -> bool:
    """Whether a result says on: `true` or `on`."""
    return result if isinstance(result, bool) else isinstance(result, str) and result.lower() in ON


def choice(*words: str) -> Callable[[Any], str | None]:
    """Return what reads one of these words; unknown, unavailable and nothing are none of them, and no error."""

    def read(result: Any) -> str | None:
        if result in words:
            return str(result)
        if result in (*NOTHING, "unknown", "unavailable"):
            return None
        raise wrong(phrase("one of {names}", names=list(words)), result)

    return read
