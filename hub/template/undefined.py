"""An undefined value: it prints as nothing and is recorded; calculating with it is an error, as in Home Assistant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import Undefined

Note = Callable[[str], None]


def noting_undefined(note: Note) -> type[Undefined]:
    """Return a class of undefined values that call `note` with the missing name when they are used."""

    class Missing(Undefined):
        __slots__ = ()

        def __str__(self) -> str:
            note(self._undefined_message)
            return ""

        def __iter__(self) -> Iterator[Any]:
            note(self._undefined_message)
            return iter(())

        def __bool__(self) -> bool:
            note(self._undefined_message)
            return False

        def __len__(self) -> int:
            note(self._undefined_message)
            return 0

        def __repr__(self) -> str:
            return "Undefined"

    return Missing


def fail(value: Undefined) -> Any:
    """Raise the error that names the missing value."""
    return value._fail_with_undefined_error()
