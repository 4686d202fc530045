"""Functions for templates beside Jinja's own, and a namespace that does not print its content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2.utils import Namespace

from hub.template.work import Exposed


class Function(Exposed):
    """A function of templates; nothing else that is not one of jinja's own can be called.

    Args:
        members: Its own functions, as `from_keys` of `dict`.
    """

    __slots__ = ("_members", "call", "name")

    def __init__(self, name: str, call: Callable[..., Any], members: Mapping[str, Function] | None = None) -> None:
        self.name = name
        self.call = call
        self._members = members or {}

    def read(self, name: str) -> Any:
        """Return one of its own functions, or raise AttributeError."""
        if name not in self._members:
            raise AttributeError(name)
        return self._members[name]

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class QuietNamespace(Namespace):
    """`namespace()`, which does not print its content: it may hold itself."""

    def __repr__(self) -> str:
        return "<namespace>"
