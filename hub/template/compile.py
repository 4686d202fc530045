"""From the text of a template to a function that renders it, with every name looked up beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.runtime import Context
from msgspec import Struct

from hub.template.contract import TemplateFailed
from hub.template.environment import TemplateSandbox
from hub.template.refused import REFUSED_TAGS, unknown_message

CODE_NAME = "<template of the hub>"
"""The file name of compiled templates: by it a line of theirs is found in a traceback."""
WORDS_PER_PART = 3
"""So many words and signs are written for one part of a template at most."""
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")
_BY_ITSELF = frozenset({"caller", "loop"})
"""Names that a macro called with a block, and a loop, have by themselves."""
_TAKES_A_FILTER = frozenset({"map"})
_TAKES_A_TEST = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}


class Compiled(Struct, frozen=True):
    """A compiled template: its function, and the mapping from generated lines to template lines."""

    root: Callable[[Context], Iterator[str]]
    lines: tuple[tuple[int, int], ...]

    def line(self, code_line: int) -> int:
        """Return the template line of a line of generated code."""
        return next((line for line, code in reversed(self.lines) if code <= code_line), 1)


def compile_template(sandbox: TemplateSandbox, text: str, name: str = "", *, own: bool = True) -> Compiled:
    """Compile a template.

    Args:
        own: Whether lines of errors in it count as lines of the template that is rendered; not for imported files.

    Raises:
        TemplateFailed: The syntax is wrong, or it uses what does not exist.
    """
    try:
        code = sandbox.code(parse_checked(sandbox, text, frozenset(), name))
        namespace: dict[str, Any] = {"environment": sandbox}
        exec(compile(code, CODE_NAME if own else f"<{name}>", "exec"), namespace)  # noqa: S102 - the code is jinja's
    except TemplateSyntaxError as error:
        raise TemplateFailed(error.message or "syntax error", text=text, name=name, line=error.lineno) from None
    except (RecursionError, MemoryError, SyntaxError, ValueError, TypeError, OverflowError) as error:
        raise TemplateFailed(f"it is too deeply nested or too complex ({error})", text=text, name=name) from None
    pairs = (pair.split("=") for pair in namespace["debug_info"].split("&") if pair)
    return Compiled(namespace["root"], tuple((int(line), int(code_line)) for line, code_line in pairs))


def parse_checked(sandbox: TemplateSandbox, text: str, functions: Collection[str], name: str = "") -> nodes.Template:
    """Parse a template and look up every filter, test and function in it.

    Args:
        functions: Names of functions that the sandbox does not know but the hub will add.

    Raises:
        TemplateFailed: With the line, the problem, and what may have been meant.
    """
    if len(text) > sandbox.limits.source_chars:
        raise TemplateFailed(f"it is longer than {sandbox.limits.source_chars} characters", text=text, name=name)
    if len(_WORD_OR_SIGN.findall(text)) > WORDS_PER_PART * sandbox.limits.source_parts:
        # Counted before it is parsed, which is what takes time.
        raise TemplateFailed(_too_many_parts(sandbox), text=text, name=name)
    try:
        tree = sandbox.parse(text)
        found = next(_complaints(sandbox, tree, functions), None)
    except TemplateSyntaxError as error:
        raise TemplateFailed(error.message or "syntax error", text=text, name=name, line=error.lineno) from None
    except RecursionError:
        raise TemplateFailed("it is too deeply nested", text=text, name=name) from None
    except (ValueError, OverflowError) as error:
        raise TemplateFailed(f"a number in it cannot be read: {error}", text=text, name=name) from None
    if found is not None:
        raise TemplateFailed(found[1], text=text, name=name, line=found[0])
    return tree


def _complaints(
    sandbox: TemplateSandbox, tree: nodes.Template, functions: Collection[str]
) -> Iterator[tuple[int, str]]:
    called: list[nodes.Name] = []
    declared = set[str]()
    for place, node in enumerate(tree.find_all(nodes.Node)):
        if place > sandbox.limits.source_parts:
            yield 0, _too_many_parts(sandbox)
        match node:
            case nodes.Filter():
                if node.name.startswith("_") or node.name not in sandbox.filters:
                    yield node.lineno, unknown_message("filter", node.name, _public(sandbox.filters))
                yield from _named_in_arguments(sandbox, node)
            case nodes.Test() if node.name not in sandbox.tests:
                yield node.lineno, unknown_message("test", node.name, sandbox.tests)
            case nodes.Name() if node.ctx != "load":
                declared.add(node.name)
            case nodes.Macro():
                declared.add(node.name)
            case nodes.FromImport():
                declared.update(each if isinstance(each, str) else each[1] for each in node.names)
            case nodes.Call(node=nodes.Name() as function):
                called.append(function)
            case nodes.Getattr() if node.attr.startswith("__"):
                yield node.lineno, f"names that begin with an underscore are closed to templates: {node.attr}"
            case _ if reason := REFUSED_TAGS.get(type(node).__name__):
                yield node.lineno, reason
    known = {*sandbox.globals, *functions, *_BY_ITSELF, *declared}
    for function in called:
        if function.name not in known:
            yield function.lineno, unknown_message("function", function.name, [*sandbox.globals, *functions])


def _named_in_arguments(sandbox: TemplateSandbox, node: nodes.Filter) -> Iterator[tuple[int, str]]:
    """Return the filter in `map("upper")` and the test in `select("odd")`."""
    if node.name in _TAKES_A_FILTER and node.args and isinstance(node.args[0], nodes.Const):
        name = str(node.args[0].value)
        if name not in sandbox.filters or name.startswith("_"):
            yield node.lineno, unknown_message("filter", name, _public(sandbox.filters))
    place = _TAKES_A_TEST.get(node.name, len(node.args))
    for argument in node.args[place : place + 1]:
        if isinstance(argument, nodes.Const) and str(argument.value) not in sandbox.tests:
            yield node.lineno, unknown_message("test", str(argument.value), sandbox.tests)


def _too_many_parts(sandbox: TemplateSandbox) -> str:
    return f"it has more than {sandbox.limits.source_parts} parts: make several of it"


def _public(names: Collection[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]


def code_line(traceback: TracebackType | None) -> int:
    """Return the last line of generated code in a traceback; 0 if there is none."""
    found = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == CODE_NAME:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    return found
