"""Values with templates in them: mappings and lists whose texts are rendered, prepared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from hub.template.contract import TemplateFailed, is_template

VALUE_DEPTH = 50
"""Mappings and lists inside each other."""


class Renderable(Protocol):
    """The interface of a template for values with templates."""

    def render(self, variables: Mapping[str, Any], *, quote: Callable[[str], str] | None = None) -> Any:
        """Render it."""
        ...

    async def render_async(self, variables: Mapping[str, Any], *, quote: Callable[[str], str] | None = None) -> Any:
        """Render with asynchronous functions."""
        ...


Compile = Callable[[str, str], Renderable]


class _Fixed(Struct, frozen=True):
    """A part without templates."""

    value: Any


class _Pairs(Struct, frozen=True):
    """A mapping with a template in some key or value."""

    pairs: list[tuple[_Part, _Part]]


class _Items(Struct, frozen=True):
    """A list with a template in some item."""

    items: list[_Part]


if TYPE_CHECKING:
    _Plan: TypeAlias = Renderable | _Pairs | _Items
    _Part: TypeAlias = Renderable | _Pairs | _Items | _Fixed


class CompiledValue:
    """A value whose templates are ready; rendering one without templates costs one check."""

    __slots__ = ("_plan", "is_static", "value")

    def __init__(self, value: Any, plan: _Plan | None) -> None:
        self._plan = plan
        self.is_static = plan is None
        self.value = value

    def render(self, variables: Mapping[str, Any], *, quote: Callable[[str], str] | None = None) -> Any:
        """The value with its templates rendered; `quote` as in `Template.render`.

        Raises:
            TemplateFailed: A template cannot be rendered.
        """
        return self.value if self._plan is None else _rendered(self._plan, variables, quote)

    async def render_async(self, variables: Mapping[str, Any], *, quote: Callable[[str], str] | None = None) -> Any:
        """Like `render`, with asynchronous functions; `quote` as in `TemplateEngine.render_async`."""
        if self._plan is None:
            return self.value
        return await _rendered_async(self._plan, variables, quote)


def compile_value(compiler: Compile, value: Any, name: str) -> CompiledValue:
    """Prepare a value.

    Args:
        compiler: Returns the template of a text and the name that its errors give it.
        value: Mappings, lists and texts.
        name: The path of the value, for errors.

    Raises:
        TemplateFailed: It is nested too deeply.
    """
    return CompiledValue(value, _plan(compiler, value, name, VALUE_DEPTH))


def _plan(compiler: Compile, value: Any, name: str, depth: int) -> _Plan | None:
    if isinstance(value, str):
        return compiler(value, name) if is_template(value) else None
    if not isinstance(value, Mapping | list | tuple):
        return None
    if not depth:
        raise TemplateFailed(f"a value is nested more than {VALUE_DEPTH} deep", name=name)
    if isinstance(value, Mapping):
        found = [
            (
                key,
                _plan(compiler, key, name, depth - 1),
                item,
                _plan(compiler, item, _join(name, key), depth - 1),
            )
            for key, item in value.items()
        ]
        if all(key_plan is None and item_plan is None for _, key_plan, _, item_plan in found):
            return None
        return _Pairs(
            [(key_plan or _Fixed(key), item_plan or _Fixed(item)) for key, key_plan, item, item_plan in found]
        )
    plans = [_plan(compiler, item, f"{name}[{place}]", depth - 1) for place, item in enumerate(value)]
    if not any(plan is not None for plan in plans):
        return None
    return _Items([plan or _Fixed(item) for plan, item in zip(plans, value, strict=True)])


def _join(name: str, key: Any) -> str:
    return f"{name}.{key}" if name else str(key)


def _rendered(part: _Part, variables: Mapping[str, Any], quote: Callable[[str], str] | None) -> Any:
    match part:
        case _Fixed():
            return part.value
        case _Pairs():
            return {_rendered(key, variables, None): _rendered(value, variables, quote) for key, value in part.pairs}
        case _Items():
            return [_rendered(item, variables, quote) for item in part.items]
    return part.render(variables, quote=quote)


async def _rendered_async(part: _Part, variables: Mapping[str, Any], quote: Callable[[str], str] | None) -> Any:
    match part:
        case _Fixed():
            return part.value
        case _Pairs():
            return {
                await _rendered_async(key, variables, None): await _rendered_async(value, variables, quote)
                for key, value in part.pairs
            }
        case _Items():
            return [await _rendered_async(item, variables, quote) for item in part.items]
    return await part.render_async(variables, quote=quote)
