"""Secrets: values that do not print, and text that is hidden because of its origin.

It is in `hub/core` because schemas (`hub.core.schema.secret`) make it; redaction is in `hub/security`.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

MASK = "[redacted]"
SECRET_LENGTH_MIN = 8
"""Shorter values are not looked for in text: masking every `1234` hides more than it protects."""


class Secret:
    """A secret value; only `reveal()` shows it. Equality takes constant time."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str | None = None) -> None:
        self._value = value
        self.source = source
        """How the configuration names it (`!secret name`), so that it is written back as a reference."""

    def reveal(self) -> str:
        """Return the value itself, for the single place that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(sha256(self._value.encode()).digest(), sha256(other._value.encode()).digest())

    def __hash__(self) -> int:
        return hash(sha256(self._value.encode()).digest())

    def __reduce__(self) -> Any:
        raise TypeError("a Secret is not pickled")


class SecretText(str):
    """The text of a secret in a place that takes any text, such as a variable of an automation.

    It works as text, and is shown as `[redacted]` however short it is.
    """

    __slots__ = ()


class SecretInt(int):
    """A secret in a place that takes a whole number, such as a PIN; like `SecretText`.

    It keeps its origin as the value it is. What a template or a calculation makes of it is an ordinary number, which is
    hidden where it is the same (`SecretMask.hides`).
    """

    __slots__ = ()

    def __pos__(self) -> SecretInt:
        return self


class SecretFloat(float):
    """A secret in a place that takes a number; like `SecretInt`."""

    __slots__ = ()

    def __pos__(self) -> SecretFloat:
        return self


SHOWN_AS_MASK = (Secret, SecretText, SecretInt, SecretFloat)
"""Values that are secrets by their origin."""


def by_origin(text: str, number: float | None = None) -> SecretText | SecretInt | SecretFloat:
    """Return the text of a secret, or its number, marked so that it keeps its origin."""
    if number is None:
        return SecretText(text)
    return SecretInt(number) if isinstance(number, int) else SecretFloat(number)


class SecretMask:
    """Hides the secrets of a piece of configuration, even where a template has inserted them into other text.

    Args:
        data: The configuration.

    Attributes:
        data: The configuration as it may be shown; the same object when there is no secret in it.
    """

    __slots__ = ("_found", "data")

    def __init__(self, data: Any = None) -> None:
        texts: set[str] = set()
        self.data = _masked(data, texts)
        words = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True) if text.strip())
        self._found = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None

    def text(self, text: str) -> str:
        """Return a text in which the secrets that occur as words are replaced."""
        if isinstance(text, SecretText):
            return MASK
        return text if self._found is None else self._found.sub(MASK, text)

    def hides(self, value: float) -> bool:
        """Whether a number is one of the secrets: templates turn number-like texts into numbers."""
        return self._found is not None and self._found.fullmatch(str(value)) is not None

    def marked(self, value: Any) -> Any:
        """Return plain data in which values that contain a secret still work, but are not shown."""
        if self._found is None or isinstance(value, (bool, *SHOWN_AS_MASK)):
            return value
        if isinstance(value, str):
            return SecretText(value) if self._found.search(value) else value
        if isinstance(value, (int, float)):
            return by_origin(str(value), value) if self.hides(value) else value
        if isinstance(value, Mapping):
            return {key: self.marked(each) for key, each in value.items()}
        return [self.marked(each) for each in value] if isinstance(value, (list, tuple)) else value


def _masked(value: Any, texts: set[str]) -> Any:
    if isinstance(value, (SecretText, SecretInt, SecretFloat)):
        texts.add(str(value))
        return MASK
    if isinstance(value, Secret):
        texts.add(value.reveal())
        return MASK
    if isinstance(value, Mapping):
        shown = {key: _masked(each, texts) for key, each in value.items()}
        return value if all(shown[key] is each for key, each in value.items()) else shown
    if isinstance(value, (list, tuple)):
        items = [_masked(each, texts) for each in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
