"""The method table: every gateway method, with the scope it needs and the part that owns it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NoReturn

from msgspec.structs import replace

from hub.core.context import SCOPES
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import All, Length, Optional, Schema, string
from hub.core.surface_group import SurfaceGroup
from hub.core.surface_table import Row, of_row
from hub.core.surfaces import Method, MethodCall, MethodGroups

NODE = "node"
"""The scope of methods that only nodes call."""
ALSO_NODES = frozenset({"health"})
"""Methods of operators that nodes call too."""

IDEMPOTENCY_KEY = "idempotencyKey"
IDEMPOTENCY_KEY_SCHEMA = All(string, Length(min=1, max=256))

ANYTHING = Schema(object)
"""The schema of a method that was not imported yet."""

_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9_.-]{0,79}$")


def serves_role(method: Method, role: str) -> bool:
    """Whether connections of a role may use a method, regardless of scopes."""
    return (method.scope == NODE) is (role == NODE) or method.name in ALSO_NODES


class MethodTable:
    """Methods by name; it grows and shrinks while the hub runs, and security tests walk it."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}
        self._unused: dict[str, SurfaceGroup[Method]] = {}

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
        self._check(method)
        self._methods[method.name] = method = _with_key(method)

        def remove() -> None:
            if self._methods.get(method.name) is method:
                del self._methods[method.name]

        return remove

    def add_groups(self, groups: MethodGroups, rows: Mapping[str, Iterable[Row]]) -> None:
        """Add methods as the table of surfaces has them; they are imported with the first use of one of their group.

        A group that the table does not have is imported at once.
        """
        for name, load in groups.items():
            if name not in rows:
                for method in load():
                    self.add(method)
                continue
            group = SurfaceGroup(name, rows[name], load)
            for row in group.rows:
                method = of_row(Method, row, handler=_unused, schema=ANYTHING)
                self._check(method)
                self._methods[method.name] = method
                self._unused[method.name] = group

    def is_unused(self, name: str) -> bool:
        """Whether a method has no schema and handler yet: `load` imports it."""
        return name in self._unused

    async def load(self, name: str) -> Method | None:
        """Return a callable method, imported on first use.

        Raises:
            HubError: It cannot be imported.
        """
        if (group := self._unused.get(name)) is not None:
            for each in (await group.get()).values():
                if self._unused.pop(each.name, None) is not None:
                    self._methods[each.name] = _with_key(each)
        return self._methods.get(name)

    def get(self, name: str) -> Method | None:
        """Return a method, loaded or not, or None if it is unknown."""
        return self._methods.get(name)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._methods)

    def _check(self, method: Method) -> None:
        if not _NAME.match(method.name):
            raise InvalidRequest(f"{method.name!r} is not a name for a method")
        if method.scope not in SCOPES and method.scope != NODE:
            raise InvalidRequest(f"method {method.name}: there is no scope {method.scope!r}")
        other = self._methods.get(method.name)
        if other is not None:
            raise Conflict(f"method {method.name} belongs to {other.owner} already; {method.owner} cannot have it")


def _with_key(method: Method) -> Method:
    if not method.acts or IDEMPOTENCY_KEY in method.schema.schema:
        return method
    keys = {**method.schema.schema, Optional(IDEMPOTENCY_KEY): IDEMPOTENCY_KEY_SCHEMA}
    return replace(method, schema=Schema(keys, extra=method.schema.extra))


async def _unused(call: MethodCall) -> NoReturn:
    raise RuntimeError(f"{call.method} was called before it was imported")
