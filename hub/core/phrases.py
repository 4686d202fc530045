"""Sentences for people that keep their template and values, so that a page can show them in another language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Self

PHRASE = "_phrase"
"""Ends the key beside a text in stored data that says how to translate it: its template and values."""


class Phrase(str):
    """A sentence in English; everything that takes text takes it.

    Attributes:
        template: The message id, with `{name}` for each value.
        values: What is filled in: text, phrases, or lists of them, which are joined by commas.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, Any]

    def __new__(cls, plain: str, template: str = "", values: Mapping[str, Any] | None = None) -> Self:
        """Return the phrase that reads `plain` in English."""
        made = super().__new__(cls, plain)
        made.template = template
        made.values = values or {}
        return made

    def as_data(self) -> dict[str, Any]:
        """Return the template and the values as plain data; `phrase_from_data` reads it."""
        return {"text": self.template, "values": {key: _data(value) for key, value in self.values.items()}}


def phrase(template: str, /, **values: Any) -> Phrase:
    """Return a sentence made of a template, which the catalogues translate, and its values."""
    return Phrase(template.format(**{key: _plain(value) for key, value in values.items()}), template, values)


def in_series(parts: Sequence[str]) -> str:
    """Return sentences joined by semicolons; empty for none."""
    return reduce(lambda one, other: phrase("{one}; {other}", one=one, other=other), parts) if parts else ""


def phrase_from_data(plain: str, data: object) -> str:
    """Return the phrase in `data` of `as_data`, or `plain` if it holds none."""
    if not isinstance(data, Mapping) or not isinstance(values := data.get("values"), Mapping):
        return plain
    return Phrase(plain, str(data.get("text")), {str(key): _restored(value) for key, value in values.items()})


def stored_phrase(told: Mapping[str, Any], name: str) -> str:
    """Return a text of stored data, as a phrase if one is kept beside it; empty when it is not there."""
    return phrase_from_data(str(told.get(name) or ""), told.get(f"{name}{PHRASE}"))


def beside_phrases(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is to be stored beside the texts of plain data, so that `stored_phrase` finds them again."""
    return {
        f"{key}{PHRASE}": each.as_data() for key, each in told.items() if isinstance(each, Phrase) and each.template
    }


def map_phrase(text: str, change: Callable[[str], str]) -> str:
    """Return a text or a phrase with `change` applied to its values, such as a redaction."""
    if not isinstance(text, Phrase):
        return change(text)
    return Phrase(change(text), text.template, {key: _rewritten(value, change) for key, value in text.values.items()})


def _rewritten(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_rewritten(each, change) for each in value]
    return map_phrase(value if isinstance(value, str) else str(value), change)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _data(value: Any) -> Any:
    if isinstance(value, Phrase):
        return {"plain": str(value), **value.as_data()}
    return [_data(each) for each in value] if isinstance(value, (list, tuple)) else str(value)


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return phrase_from_data(str(value.get("plain", "")), value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_restored(each) for each in value]
    return str(value)
