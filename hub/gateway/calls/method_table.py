"""The method table: every gateway method, with the scope it needs and the part that owns it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from hub.core.context import SCOPES
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surfaces import Method

NODE = "node"
"""The scope of methods that only nodes call."""
ALSO_NODES = frozenset({"health"})
"""Methods of operators that nodes call too."""

IDEMPOTENCY_KEY = "idempotencyKey"
IDEMPOTENCY_KEY_SCHEMA = All(string, Length(min=1, max=256))

_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9_.-]{0,79}$")


def serves_role(method: Method, role: str) -> bool:
    """Whether connections of a role have a method, whatever scopes they have."""
    return (method.scope == NODE) is (role == NODE) or method.name in ALSO_NODES


class MethodTable:
    """Methods by name; it grows and shrinks while the hub runs, and security tests walk it."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}

    def __iter__(self) -> Iterator[Method]:
        return iter(tuple(self._methods.values()))

    def __len__(self) -> int:
        return len(self._methods)

    def add(self, method: Method) -> Callable[[], None]:
        """Add a method; one that acts takes an `idempotencyKey` whether its schema says so or not.

        Returns:
            A function that removes it; calling it twice does no harm.

        Raises:
            InvalidRequest: Its name or scope cannot be.
            Conflict: Another part has this name already.
        """
        if not _NAME.match(method.name):
            raise InvalidRequest(f"{method.name!r} is not a name for a method")
        if method.scope not in SCOPES and method.scope != NODE:
            raise InvalidRequest(f"method {method.name}: there is no scope {method.scope!r}")
        other = self._methods.get(method.name)
        if other is not None:
            raise Conflict(f"method {method.name} belongs to {other.owner} already; {method.owner} cannot have it")
        if method.acts and IDEMPOTENCY_KEY not in method.schema.schema:
            keys = {**method.schema.schema, Optional(IDEMPOTENCY_KEY): IDEMPOTENCY_KEY_SCHEMA}
            method = replace(method, schema=Schema(keys, extra=method.schema.extra))
        self._methods[method.name] = method

        def remove() -> None:
            if self._methods.get(method.name) is method:
                del self._methods[method.name]

        return remove

    def get(self, name: str) -> Method | None:
        """Return a method, or None when there is none of that name."""
        return self._methods.get(name)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._methods)
