"""The sandbox: an immutable environment in which every access, call and operation is judged and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager
from functools import wraps
from types import GeneratorType
from typing import Any

from jinja2 import Undefined, nodes, pass_context
from jinja2.compiler import generate
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

from hub.core.states import EntityState
from hub.template import guards
from hub.template.attributes import MAPPING_METHODS, NOTHING, Attributes
from hub.template.contract import TemplateFailed
from hub.template.formatting import Formats
from hub.template.functions import Function
from hub.template.operations import COMPARE, check_power, check_product
from hub.template.state_views import StateReader
from hub.template.undefined import Note, fail, noting_undefined
from hub.template.work import ATOMS, CHARS_PER_STEP, BoundReached, Exposed, NotPlainData, TemplateLimits, Work

WORD_BITS = 64
"""Smaller whole numbers cost nothing worth counting."""
COPIED_PER_STEP = 32
"""So many items of a list are copied in the time of one step."""
_LOOP_FIELDS = frozenset(
    ["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem"]
)
_OPAQUE = (Undefined, Macro, LoopContext, Namespace, Cycler, Joiner, GeneratorType)
_SAFE = ATOMS | {str, list, dict, tuple}


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which templates see plain data, the objects of this package, and nothing else.

    It renders one template at a time, in one thread: `work` is the work of the rendering under way.

    Args:
        limits: The bounds.
        note: Called with the missing name when something undefined is used.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%", "-"})

    def __init__(self, limits: TemplateLimits, note: Note) -> None:
        super().__init__(
            optimized=False,
            autoescape=False,
            undefined=noting_undefined(note),
            extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"],
            finalize=pass_context(lambda context, value: self.print(value)),
            cache_size=0,
        )
        self.limits = limits
        self.work = self.new_work()
        self.reader: StateReader | None = None
        self.load_import: Callable[[TemplateSandbox, Any], Any] | None = None
        self.formats = Formats(lambda: self.work, self._look_up, self.to_text)
        self.attributes = Attributes(lambda: self.work, self.formats)
        self.globals.clear()
        self.filters.clear()
        for name, call in self._guards().items():
            self.filters[name] = call

    def new_work(self) -> Work:
        """The work of a rendering that begins now."""
        return Work(self.limits, _OPAQUE)

    # What is added to the sandbox

    def add_function(self, name: str, call: Callable[..., Any]) -> None:
        """Add a function under a name."""
        self.globals[name] = Function(name, self._counted(call))

    def add_filter(self, name: str, call: Callable[..., Any]) -> None:
        """Add a filter; it may carry jinja's marks for a first argument."""
        self.filters[name] = self._counted(call)

    def add_test(self, name: str, call: Callable[..., Any]) -> None:
        """Add a test."""
        self.tests[name] = self._counted(call)

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its arguments and results counted."""
        skip = 1 if hasattr(call, "jinja_pass_arg") else 0

        @wraps(call)
        def counted(*args: Any, **named: Any) -> Any:
            self.work.step()
            given = [*args[:skip], *map(self._handed_in, args[skip:])]
            result = call(*given, **{key: self._handed_in(value) for key, value in named.items()})
            return self._each(result) if isinstance(result, GeneratorType) else self.take(result)

        return counted

    def take(self, value: Any) -> Any:
        """Count a new value; states become views, iterators count their items."""
        kind = type(value)
        if kind is str:
            return self.work.text(value)
        if kind is int and value.bit_length() > WORD_BITS:
            self.work.number(value.bit_length())
        return self._handed_in(value)

    def _handed_in(self, value: Any) -> Any:
        """Count the cost of reading a value; its texts exist already."""
        kind = type(value)
        if kind in ATOMS:
            return value
        if kind is str:
            if len(value) > CHARS_PER_STEP:
                self.work.step(len(value) // CHARS_PER_STEP)
            return value
        if isinstance(value, Iterator) and not isinstance(value, GeneratorType | Cycler):
            return self._each(value)
        self.work.weigh(value)
        return self._with_views(value) if self.work.seen_states else value

    def _each(self, items: Any) -> Iterator[Any]:
        for item in items:
            self.work.step()
            yield self._with_views(item) if type(item) is EntityState else item

    def _with_views(self, value: Any) -> Any:
        if isinstance(value, EntityState):
            return self.reader.view(value) if self.reader else value.state
        if isinstance(value, Mapping):
            return {key: self._with_views(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            kind = list if isinstance(value, list) else tuple if isinstance(value, tuple) else set
            return kind(self._with_views(item) for item in value)
        return value

    # Access

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a method, then a field, then an element."""
        if type(obj) is dict and attribute in obj and attribute not in MAPPING_METHODS:
            return self._seen(obj[attribute])
        if attribute.startswith("_"):
            if isinstance(obj, Mapping):
                found = self._element(obj, attribute)
                return self.undefined(obj=obj, name=attribute) if found is NOTHING else found
            raise SecurityError(f"names that begin with an underscore are closed to templates: {attribute}")
        found = self._attribute(obj, attribute)
        if found is not NOTHING:
            return found
        found = self._element(obj, attribute)
        return self.undefined(obj=obj, name=attribute) if found is NOTHING else found

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: an element, then a method or field."""
        self.work.step()
        found = self._element(obj, argument)
        if found is not NOTHING:
            return found
        if isinstance(argument, str) and not isinstance(obj, Mapping):
            return self.getattr(obj, argument)
        if isinstance(argument, str) and (method := self.attributes.method(obj, argument)):
            return self._bound(argument, method)
        return self.undefined(obj=obj, name=argument)

    def _look_up(self, obj: Any, name: Any, is_attribute: bool) -> Any:
        return self.getattr(obj, name) if is_attribute else self.getitem(obj, name)

    def _element(self, obj: Any, key: Any) -> Any:
        try:
            if isinstance(obj, Mapping | list | tuple | str | range):
                return self._seen(obj[key])
        except (TypeError, LookupError):
            return NOTHING
        if isinstance(obj, Undefined):
            return fail(obj)
        if isinstance(obj, Exposed) and isinstance(key, str) and "." in key:
            return self._exposed(obj, key)
        return NOTHING

    def _attribute(self, obj: Any, name: str) -> Any:
        if isinstance(obj, EntityState):
            obj = self._with_views(obj)
        if isinstance(obj, Exposed):
            return self._exposed(obj, name)
        if isinstance(obj, Undefined):
            return fail(obj)
        if (method := self.attributes.method(obj, name)) is not None:
            return self._bound(name, method)
        match obj:
            case LoopContext():
                if name in {"cycle", "changed"}:
                    return self._bound(name, getattr(obj, name))
                return self._seen(getattr(obj, name)) if name in _LOOP_FIELDS else NOTHING
            case Namespace():
                return getattr(obj, name, NOTHING)
            case Cycler():
                if name in {"next", "reset"}:
                    return self._bound(name, getattr(obj, name))
                return obj.current if name == "current" else NOTHING
            case Macro():
                return getattr(obj, name) if name in {"name", "arguments"} else NOTHING
            case tuple() if name in {"grouper", "list"} and hasattr(obj, "grouper"):
                return getattr(obj, name)
        return self.attributes.field(obj, name)

    def _exposed(self, obj: Exposed, name: str) -> Any:
        try:
            return obj.read(name)
        except AttributeError:
            return NOTHING

    def _bound(self, name: str, method: Callable[..., Any]) -> Function:
        return Function(name, self._counted(method))

    def _seen(self, value: Any) -> Any:
        """Return a value read from a variable."""
        if type(value) in _SAFE:
            return value
        return self._with_views(value) if type(value) is EntityState else value

    # Calls and operations

    def call(__self, __context: Context, __obj: Any, *args: Any, **named: Any) -> Any:
        """Call a function, a macro or a loop; nothing else can be called."""
        self, obj = __self, __obj
        self.work.step()
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        if isinstance(obj, Function):
            return obj.call(*args, **named)
        if isinstance(obj, Macro):
            return self.call_macro(obj, *args, **named)
        if isinstance(obj, LoopContext):
            with self.nested():
                return obj(self.loop(*args), **named)
        if isinstance(obj, Joiner):
            return obj()
        if isinstance(obj, Exposed) and callable(obj):
            return self.take(obj(*map(self._handed_in, args), **named))
        if isinstance(obj, Undefined):
            return fail(obj)
        raise SecurityError(f"a value of type {type(obj).__name__} is not a function")

    def call_macro(self, macro: Macro, *args: Any, **named: Any) -> Any:
        """Call a macro of the template."""
        with self.nested():
            return macro(*args, **named)

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Mark that a macro, a recursive loop or an imported file is being rendered inside another."""
        self.work.depth += 1
        try:
            if self.work.depth > self.limits.call_depth:
                raise BoundReached(f"more than {self.limits.call_depth} macros are inside each other")
            yield
        finally:
            self.work.depth -= 1

    def get_template(self, name: Any, parent: str | None = None, globals: Any = None) -> Any:
        """Return a file that a template imports."""
        if self.load_import is None:
            raise TemplateFailed("there is no folder custom_templates here")
        return self.load_import(self, name)

    def call_filter(self, name: str, *args: Any, **named: Any) -> Any:
        """A filter by its name, as `map` calls it; the internal ones have none."""
        if str(name).startswith("_"):
            raise SecurityError(f"there is no filter {name}")
        return super().call_filter(name, *args, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operation whose result may be large."""
        work = self.work
        work.step()
        match operator:
            case "%" if isinstance(left, str):
                return work.text(self.formats.percent(left, right))
            case "%" if isinstance(left, bytes):
                raise BoundReached("bytes cannot be formatted")
            case "*":
                check_product(work, left, right)
            case "**":
                check_power(work, left, right)
            case "+" if isinstance(left, str) and isinstance(right, str):
                work.room_for(len(left) + len(right))
            case "+" if isinstance(left, list | tuple) and isinstance(right, list | tuple):
                # Not weighed to the bottom: lists are built item by item, and whatever goes through one weighs it.
                work.items(len(left) + len(right))
                work.step((len(left) + len(right)) // COPIED_PER_STEP)
                return self.binop_table["+"](left, right)
        return self.take(self.binop_table[operator](left, right))

    # The guards that `hub.template.guards` puts into the tree

    def _guards(self) -> dict[str, Callable[..., Any]]:
        return {
            guards.LOOP: self.loop,
            guards.SPEND: self._spend,
            guards.WEIGH: self.take,
            guards.CONCAT: self._concat,
            guards.COMPARE: self._compare,
            guards.SLICE: self._slice,
        }

    def loop(self, items: Any) -> Iterator[Any]:
        """The items of a loop, counted one by one."""
        if isinstance(items, Sequence | AbstractSet | Mapping | Exposed | Undefined | GeneratorType | range):
            return self._each(items)
        if isinstance(items, int | float | bool | None):
            raise TypeError(f"{self.to_text(items)} is not a list")
        raise NotPlainData(f"a value of type {type(items).__name__} is not a list")

    def _spend(self, chars: int) -> None:
        self.work.step()
        self.work.chars += chars
        if self.work.chars > self.limits.total_chars:
            raise BoundReached(f"its texts have more than {self.limits.total_chars} characters together")

    def _concat(self, parts: tuple[Any, ...]) -> str:
        return self.concat([self.to_text(part) for part in parts])

    def _compare(self, left: Any, *steps: Any) -> bool:
        for name, right in zip(steps[::2], steps[1::2], strict=True):
            for side in (left, right):
                if type(side) not in ATOMS:
                    self.work.weigh(side)
            if not COMPARE[name](left, right):
                return False
            left = right
        return True

    def _slice(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        if isinstance(value, Undefined):
            return fail(value)
        if not isinstance(value, str | list | tuple | range | bytes):
            raise TypeError(f"a value of type {type(value).__name__} has no slices")
        return self.take(value[slice(start, stop, step)])

    # Printing

    def concat(self, pieces: Iterable[str]) -> str:
        """The pieces of a block as one text."""
        texts = list(pieces)
        self.work.room_for(sum(map(len, texts)))
        return self.work.text("".join(texts))

    def print(self, value: Any) -> str:
        """Return the output of `{{ value }}`, counted; quoted where a model reads it within our own text."""
        self.work.step()
        text = value if type(value) is str else self.to_text(value)
        return self.work.text(text if self.work.quote is None else self.work.quote(text))

    def to_text(self, value: Any) -> str:
        """Any value as the text that printing it gives."""
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int):
            self.work.number(value.bit_length())
            return str(value)
        if isinstance(value, GeneratorType):
            value = list(value)
        if isinstance(value, EntityState):
            value = self._with_views(value)
        if value is None or isinstance(value, float | Exposed | Undefined):
            return str(value)
        self.work.weigh(value)
        if self.work.seen_chars:
            self.work.room_for(self.work.seen_chars)
        return str(self._with_views(value) if self.work.seen_states else value)

    # Compiling and rendering

    def code(self, tree: nodes.Template) -> str:
        """Python code of a template that was checked; the tree is changed."""
        tree = guards.add_guards(tree)
        # Nothing is calculated while compiling: only a rendering counts what it costs.
        return str(generate(tree, self, None, None, optimized=False))

    def render(self, root: Callable[[Context], Iterator[str]], variables: Mapping[str, Any]) -> str:
        """The text that a compiled template gives, without white space around it."""
        context = Context(self, {**self.globals, **variables}, None, {})
        pieces, chars = [], 0
        for piece in root(context):
            chars += len(piece)
            if chars > self.limits.output_chars:
                raise BoundReached(f"it gives more than {self.limits.output_chars} characters")
            pieces.append(piece)
        return "".join(pieces).strip()
