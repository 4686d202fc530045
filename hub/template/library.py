"""Everything that templates can call, put into a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from functools import wraps
from typing import Any

from jinja2 import pass_context, pass_environment
from jinja2.filters import FILTERS as DEFAULT_FILTERS, make_attrgetter
from jinja2.runtime import Macro
from jinja2.tests import TESTS as DEFAULT_TESTS

from hub.core.clock import Clock
from hub.core.plain_words import is_plain
from hub.core.states import StateMachine
from hub.template import lists, numbers
from hub.template.contract import REGISTRY_FUNCTIONS
from hub.template.entities import Entities
from hub.template.environment import TemplateSandbox
from hub.template.functions import Function, QuietNamespace
from hub.template.handing_over import with_plain_data
from hub.template.outside import note_outside
from hub.template.regexes import Regexes
from hub.template.state_views import StateReader
from hub.template.texts import Texts
from hub.template.times import Times
from hub.template.version import VersionValue

# jinja's own that need no more than the counting of what goes in and out.
_OF_JINJA = [
    "dictsort",
    "first",
    "groupby",
    "items",
    "last",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "slice",
    "sort",
    "unique",
]


def fill(
    sandbox: TemplateSandbox,
    states: StateMachine,
    clock: Clock,
    zone: Callable[[], tzinfo],
    registries: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Add the functions, filters and tests of `docs/templates.md` to a sandbox; those of registries may be empty."""
    work = lambda: sandbox.work  # noqa: E731
    sandbox.reader = StateReader(states, zone, work)
    entities = Entities(sandbox.reader)
    texts = Texts(sandbox.to_text, sandbox.formats)
    times = Times(clock, zone, work, sandbox.formats)
    regexes = Regexes(work, sandbox.to_text)
    calls = _Calls(sandbox)
    known = registries or {}
    of_registries = {name: with_plain_data(_noted(known.get(name, _nothing))) for name in REGISTRY_FUNCTIONS}
    both = {
        **numbers.BOTH,
        **lists.BOTH,
        **texts.both(),
        **times.both(),
        **entities.both(),
        **regexes.filters(),
        **calls.both(),
        **of_registries,
        "version": VersionValue,
    }
    ours_of_jinja: dict[str, Any] = {name: DEFAULT_FILTERS[name] for name in _OF_JINJA}
    filters: dict[str, Callable[..., Any]] = {
        **ours_of_jinja,
        **lists.FILTERS,
        **numbers.FILTERS,
        **texts.filters(),
        **both,
        **calls.filters(),
        "states": entities.states,
        "closest": entities.closest_of,
    }
    tests_of_jinja: dict[str, Any] = dict(DEFAULT_TESTS)
    tests: dict[str, Callable[..., Any]] = {
        **tests_of_jinja,
        **lists.TESTS,
        **entities.tests(),
        **{name: call for name, call in of_registries.items() if name.startswith("is_")},
        "is_number": numbers.is_number,
        "match": regexes.match,
        "search": regexes.search,
        "apply": calls.apply,
    }
    functions = {"closest": entities.closest, **both, **lists.FUNCTIONS, **times.functions(), **calls.functions()}
    for name, call in filters.items():
        sandbox.add_filter(name, call)
    sandbox.tests.clear()
    for name, call in tests.items():
        sandbox.add_test(name, call)
    for name, call in functions.items():
        sandbox.add_function(name, call)
    make_dict: Any = sandbox.globals["dict"]
    sandbox.globals["dict"] = Function("dict", make_dict.call, {"from_keys": make_dict})  # Zigbee2MQTT's events use it
    sandbox.globals.update(numbers.CONSTANTS)
    sandbox.globals.update({"states": entities.states, "namespace": Function("namespace", QuietNamespace)})


def _noted(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result may hold words of devices."""

    @wraps(call)
    def noted(*args: Any) -> Any:
        found = call(*args)
        if not is_plain(found):
            note_outside()
        return found

    return noted


def _nothing(*_args: Any) -> None:
    """A function of registries where there are none."""


class _Calls:
    """Functions that call others."""

    def __init__(self, sandbox: TemplateSandbox) -> None:
        self._sandbox = sandbox

    def both(self) -> dict[str, Callable[..., Any]]:
        return {"apply": self.apply, "as_function": self.as_function}

    def functions(self) -> dict[str, Callable[..., Any]]:
        return {name: self._largest_or_smallest(name) for name in ("min", "max")}

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"attr": attr, "join": self._join(), "sum": self._sum()}

    def apply(self, value: Any, function: Any, *args: Any, **named: Any) -> Any:
        """Return a function's result for the value."""
        return self._call(function, value, *args, **named)

    def as_function(self, macro: Any) -> Function:
        """A macro that says `returns(value)`, as a function with that value."""
        if not isinstance(macro, Macro):
            raise TypeError("as_function takes a macro")

        def call(*args: Any, **named: Any) -> Any:
            returned: list[Any] = []
            self._sandbox.call_macro(macro, *args, **named, returns=Function("returns", returned.append))
            return returned[-1] if returned else None

        return Function(macro.name or "function", call)

    def _call(self, function: Any, *args: Any, **named: Any) -> Any:
        if isinstance(function, Function):
            return function.call(*args, **named)
        if isinstance(function, Macro):
            return self._sandbox.call_macro(function, *args, **named)
        raise TypeError(f"a value of type {type(function).__name__} is not a function")

    def _largest_or_smallest(self, name: str) -> Callable[..., Any]:
        choose = DEFAULT_FILTERS[name]

        def of_arguments(*args: Any, **named: Any) -> Any:
            if not args:
                raise TypeError(f"{name} needs at least one value")
            values = args if len(args) > 1 else args[0]
            return choose(self._sandbox, values, **named)

        return of_arguments

    def _join(self) -> Callable[..., Any]:
        @pass_environment
        def join(sandbox: TemplateSandbox, value: Any, d: Any = "", attribute: Any = None) -> str:
            return sandbox.formats.join(_attributes(sandbox, value, attribute), d)

        return join

    def _sum(self) -> Callable[..., Any]:
        @pass_environment
        def add_up(sandbox: TemplateSandbox, value: Any, attribute: Any = None, start: Any = 0) -> Any:
            return numbers.total(_attributes(sandbox, value, attribute), start)

        return add_up


@pass_context
def attr(context: Any, value: Any, name: str) -> Any:
    """An attribute by its name."""
    return context.environment.getattr(value, str(name))


def _attributes(sandbox: TemplateSandbox, value: Any, attribute: Any) -> Iterator[Any]:
    if attribute is None:
        return iter(value)
    return map(make_attrgetter(sandbox, attribute), value)
