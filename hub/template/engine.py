"""The templates of the hub: compiled once, rendered in a sandbox, parsed into values."""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.states import StateMachine
from hub.template.compiled_value import CompiledValue, compile_value
from hub.template.contract import NeedsWaiting, RenderInfo, TemplateFailed
from hub.template.deferred import ROUNDS, Answers, CannotWait, NeedsAnswer, deferred_function
from hub.template.native import as_bool, parse_result
from hub.template.work import BoundReached, TemplateLimits, Work

if TYPE_CHECKING:
    from hub.template.compile import Compiled
    from hub.template.environment import TemplateSandbox

_LOGGER = logging.getLogger(__name__)

CACHED_TEMPLATES = 2_048
"""Templates that stay compiled; those of an automation that is armed hold their own."""
NOTED_NAMES = 1_000
"""Undefined names that are remembered as told."""


class Template:
    """One template. It is compiled when it is first rendered.

    Args:
        templates: The engine that renders it.
        text: Its text.
        name: Its place, for errors.
    """

    __slots__ = ("_compiled", "_templates", "name", "text")

    def __init__(self, templates: TemplateEngine, text: str, name: str = "") -> None:
        self._templates = templates
        self._compiled: Compiled | None = None
        self.text = text
        self.name = name

    def render(
        self,
        variables: Mapping[str, Any],
        *,
        parse_result: bool = True,
        quote: Callable[[str], str] | None = None,
    ) -> Any:
        """Render it.

        Args:
            variables: Plain data by name; states are shown as `states.…` shows them.
            parse_result: Parse the text into a number, list, ….
            quote: Transforms each inserted text; the template's own words stay as they are.

        Raises:
            TemplateFailed: It cannot be compiled or rendered, or it goes beyond a bound.
        """
        return self._templates._render(self, variables, parse=parse_result, quote=quote)[0]

    async def render_async(self, variables: Mapping[str, Any], *, quote: Callable[[str], str] | None = None) -> Any:
        """As `TemplateEngine.render_async`."""
        return await self._templates.render_async(self, variables, quote=quote)

    def render_info(self, variables: Mapping[str, Any], *, parse_result: bool = True) -> tuple[Any, RenderInfo]:
        """Render it, and return the result with its dependencies.

        Raises:
            TemplateFailed: As `render`.
        """
        value, work = self._templates._render(self, variables, parse=parse_result)
        return value, work.info()

    def compiled(self) -> Compiled:
        """The compiled template.

        Raises:
            TemplateFailed: It cannot be compiled.
        """
        if self._compiled is None:
            self._compiled = self._templates._compiled(self.text, self.name)
        return self._compiled

    def __repr__(self) -> str:
        return f"Template({self.text!r})"


class TemplateEngine:
    """Compiles and renders templates, in the thread of the event loop.

    Args:
        states: Read by `states(…)` and its kin.
        clock: Read by `now()`.
        zone: Returns the home's time zone.
        functions: Further functions by name; they take and return plain data and must be quick.
        deferred: Functions that take their time; they can be called in `render_async` alone.
        limits: The bounds.
        registries: `REGISTRY_FUNCTIONS` by name; they find nothing without it.
        custom_templates: The folder that templates import files from.
    """

    def __init__(
        self,
        states: StateMachine,
        clock: Clock,
        zone: Callable[[], tzinfo],
        functions: Mapping[str, Callable[..., Any]] | None = None,
        deferred: Mapping[str, Callable[..., Awaitable[Any]]] | None = None,
        *,
        limits: TemplateLimits | None = None,
        registries: Mapping[str, Callable[..., Any]] | None = None,
        custom_templates: Path | None = None,
    ) -> None:
        self._registries = registries
        self._states = states
        self._clock = clock
        self._zone = zone
        self._functions = dict(functions or {})
        self._deferred = dict(deferred or {})
        self._limits = limits or TemplateLimits()
        self._custom_templates = custom_templates
        self._sandbox: TemplateSandbox | None = None
        self._cache: OrderedDict[str, Compiled | TemplateFailed] = OrderedDict()
        self._rendering: Template | None = None
        self._noted: set[tuple[str, str]] = set()

    def over(self, states: StateMachine, clock: Clock) -> TemplateEngine:
        """Return templates with the same functions over other states and another clock, for trials."""
        return TemplateEngine(
            states,
            clock,
            self._zone,
            self._functions,
            self._deferred,
            limits=self._limits,
            registries=self._registries,
            custom_templates=self._custom_templates,
        )

    def compile(self, text: str, name: str = "") -> Template:
        """Return a template; nothing is compiled before it is rendered, and then once for each text."""
        return Template(self, text.strip(), name)

    def compile_value(self, value: Any, name: str = "") -> CompiledValue:
        """Return a value, with the templates in it ready to be rendered again and again."""
        return compile_value(self.compile, value, name)

    def render_value(
        self, value: Any, variables: Mapping[str, Any], name: str = "", *, quote: Callable[[str], str] | None = None
    ) -> Any:
        """Render each template in a value of mappings, lists and texts; everything else stays unchanged.

        Args:
            quote: Transforms each inserted text; a template's own words stay as they are.

        Raises:
            TemplateFailed: A template cannot be rendered; the message names its path.
        """
        return self.compile_value(value, name).render(variables, quote=quote)

    async def render_async(
        self,
        template: Template | str,
        variables: Mapping[str, Any],
        *,
        parse_result: bool = True,
        quote: Callable[[str], str] | None = None,
    ) -> Any:
        """Render with asynchronous functions: each is awaited, and the template rendered again.

        Args:
            quote: Transforms each inserted text; the template's own words stay as they are.

        Raises:
            TemplateFailed: As `Template.render`, or a function failed, or it takes more than 8 rounds.
        """
        template = self.compile(template) if isinstance(template, str) else template
        answers = Answers()
        for _ in range(ROUNDS):
            try:
                return self._render(template, variables, parse=parse_result, answers=answers, quote=quote)[0]
            except NeedsAnswer as needed:
                call = self._deferred[needed.name]
                try:
                    await answers.add(needed, call)
                except HubError as error:
                    reason = f"{needed.name} failed: {error.message}"
                    raise TemplateFailed(reason, text=template.text, name=template.name) from error
        reason = f"it calls functions that take their time in more than {ROUNDS} rounds"
        raise TemplateFailed(reason, text=template.text, name=template.name)

    def as_bool(self, value: Any) -> bool:
        """Whether the result of a condition is true, by Home Assistant's rules."""
        return as_bool(value)

    # Rendering

    def _render(
        self,
        template: Template,
        variables: Mapping[str, Any],
        *,
        parse: bool,
        answers: Answers | None = None,
        quote: Callable[[str], str] | None = None,
    ) -> tuple[Any, Work]:
        compiled = template.compiled()
        sandbox = self._environment()
        outer, outer_work = self._rendering, sandbox.work
        self._rendering = template
        sandbox.work = work = sandbox.new_work()
        work.answers = answers
        work.quote = quote
        try:
            text = sandbox.render(compiled.root, variables)
        except (NeedsAnswer, TemplateFailed):
            raise
        except Exception as error:  # a template may raise anything at all; it becomes one kind of error
            failure = self._failure(template, compiled, error)
            failure.info = work.info()
            raise failure from None
        finally:
            self._rendering, sandbox.work = outer, outer_work
        return (parse_result(text) if parse else text), work

    def _failure(self, template: Template, compiled: Compiled, error: Exception) -> TemplateFailed:
        from hub.template.compile import code_line

        found = code_line(error.__traceback__)
        line = compiled.line(found) if found else 0
        message = str(error) or type(error).__name__
        if isinstance(error, RecursionError):
            message = "it is too deeply nested"
        elif isinstance(error, OverflowError):
            message = "the result is too large"
        elif isinstance(error, KeyError | IndexError):
            message = f"there is no element {message}"
        elif not isinstance(error, BoundReached):
            message = message[:500]
        kind = NeedsWaiting if isinstance(error, CannotWait) else TemplateFailed
        return kind(message, text=template.text, name=template.name, line=line)

    def _compiled(self, text: str, name: str) -> Compiled:
        """The compiled template of a text, from the cache if it is there; a failure is remembered too."""
        found = self._cache.get(text)
        if found is None:
            from hub.template.compile import compile_template

            sandbox = self._environment()
            try:
                found = compile_template(sandbox, text)
            except TemplateFailed as error:
                found = error
            self._cache[text] = found
            if len(self._cache) > CACHED_TEMPLATES:
                self._cache.popitem(last=False)
        self._cache.move_to_end(text)
        if isinstance(found, TemplateFailed):
            raise TemplateFailed(found.reason, text=text, name=name, line=found.line)
        return found

    def _environment(self) -> TemplateSandbox:
        """The sandbox, made when the first template is rendered: jinja is not loaded before."""
        if self._sandbox is None:
            from hub.template.environment import TemplateSandbox
            from hub.template.handing_over import with_plain_data
            from hub.template.library import fill

            sandbox = TemplateSandbox(self._limits, self._note)
            fill(sandbox, self._states, self._clock, self._zone, self._registries)
            for name, call in self._functions.items():
                sandbox.add_function(name, with_plain_data(call))
            for name in self._deferred:
                sandbox.add_function(name, with_plain_data(deferred_function(name, lambda: sandbox.work.answers)))
            if self._custom_templates is not None:
                from hub.template.imports import Imports

                sandbox.load_import = Imports(self._custom_templates).load
            self._sandbox = sandbox
        return self._sandbox

    def _note(self, message: str) -> None:
        """Warn once for each template and name that something undefined was used."""
        template = self._rendering
        if template is None or (template.text, message) in self._noted or len(self._noted) >= NOTED_NAMES:
            return
        self._noted.add((template.text, message))
        line = template.compiled().line(_running_line())
        told = TemplateFailed(f"{message}; it counts as empty", text=template.text, name=template.name, line=line)
        _LOGGER.warning("%s", told.message)


def _running_line() -> int:
    """The line of generated code that is being executed."""
    from hub.template.compile import CODE_NAME

    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename != CODE_NAME:
        frame = frame.f_back
    return frame.f_lineno
