"""Arguments that a template passes to a function of the hub: plain data, without objects of the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import GeneratorType
from typing import Any

from jinja2 import Undefined

from hub.core.states import EntityState
from hub.template.state_views import StateView
from hub.template.undefined import fail
from hub.template.work import Exposed


def with_plain_data(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with all arguments converted to plain data; undefined arguments are an error."""

    @wraps(call)
    def called(*args: Any, **named: Any) -> Any:
        return call(*map(plain, args), **{key: plain(value) for key, value in named.items()})

    return called


def plain(value: Any) -> Any:
    """Return the value without template objects: a state as a mapping, an iterable as a list."""
    match value:
        case str() | int() | float() | None:
            return value
        case Undefined():
            return fail(value)
        case StateView():
            return value.raw.as_dict()
        case EntityState():
            return value.as_dict()
        case Exposed():
            return str(value)
        case Mapping():
            return {plain(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset() | range() | GeneratorType():
            return [plain(item) for item in value]
    return value
