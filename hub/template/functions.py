"""Functions for templates beside Jinja's own, and a namespace that does not print its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2.utils import Namespace

from hub.template.work import Exposed


class Function(Exposed):
    """A function of templates; nothing else that is not one of jinja's own can be called."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name = name
        self.call = call

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class QuietNamespace(Namespace):
    """`namespace()`, which prints nothing of what is in it: it may hold itself."""

    def __repr__(self) -> str:
        return "<namespace>"
