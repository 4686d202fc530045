"""A string that does not print.

It lives on the ground floor because schemas (`hub.core.schema.secret`) make it; redaction is in `hub/security`.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any


class Secret:
    """A secret value; only `reveal()` shows it. Equality takes constant time."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str | None = None) -> None:
        self._value = value
        self.source = source
        """How the configuration names it (`!secret name`), so that it is written back as a reference."""

    def reveal(self) -> str:
        """Return the value itself, for the one place that needs it."""
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
