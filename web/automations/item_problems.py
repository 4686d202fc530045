"""Problems in the text of one automation or script, with their places and keys; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.automation.definition.grammar import automation
from hub.config.errors import ConfigError
from hub.config.paths import Key, KeyPath, format_path
from hub.config.spans import SpanNode, as_written, child, read_spans
from hub.core.errors import InvalidRequest
from hub.core.schema import REQUIRED_MESSAGE, Invalid, each_error
from web.core.i18n import Catalogue
from web.core.texts import REQUIRED

PROBLEM_LIMIT = 100
_CARDS = {
    "trigger": ("triggers:\n-\n", 2),
    "condition": ("conditions:\n-\n", 2),
    "action": ("actions:\n-\n", 2),
    "option": ("actions:\n- choose:\n  -\n", 4),
}
"""The automation around a card that is judged alone: what stands above it, and the columns before it, which are as many
as the keys that lead to it."""
AUTOMATION = "an automation is a mapping: keys such as alias, triggers and actions"
SCRIPT = "a script is a mapping: keys such as alias, fields and sequence"


class Problem(Struct, frozen=True):
    """One problem; line and column are from 1, within the text."""

    line: int
    column: int
    keys: KeyPath
    message: str
    hint: str = ""

    @property
    def name(self) -> str:
        """The field of the form that it is about."""
        return ".".join(str(key) for key in self.keys)

    def as_dict(self, words: Catalogue) -> dict[str, Any]:
        """The problem as the editor and templates see it, in the reader's language."""
        return {
            "line": self.line,
            "column": self.column,
            "path": format_path(self.keys),
            "name": self.name,
            "message": words.gettext(self.message),
            "hint": words.gettext(self.hint),
            "severity": "error",
        }


def problems_of(text: str, check: Callable[[Any], object] = automation, what: str = AUTOMATION) -> list[Problem]:
    """Return the problems of an automation's text, or of any text that `check` judges.

    Args:
        check: Takes plain data; raises `Invalid`.
        what: The message when the text is not a mapping.
    """
    try:
        root = read_spans(text)
    except InvalidRequest as error:
        return [_unreadable(error)]
    if root is None or not isinstance(root.data, dict):
        return [Problem(1, 1, (), what)]
    try:
        check(as_written(root.data))
    except Invalid as error:
        return [_problem(text, root, each) for each in each_error(error)][:PROBLEM_LIMIT]
    return []


def problems_of_card(text: str, what: str) -> list[Problem]:
    """Return the problems of one trigger, condition, action or option; of anything else only that it is no YAML."""
    if what not in _CARDS:
        try:
            read_spans(text)
        except InvalidRequest as error:
            return [_unreadable(error)]
        return []
    head, before = _CARDS[what]
    lines = (" " * before + line if line.strip() else line for line in text.splitlines(keepends=True))
    above = head.count("\n")
    return [
        Problem(each.line - above, max(1, each.column - before), each.keys[before:], each.message, each.hint)
        for each in problems_of(head + "".join(lines))
        if each.line > above
    ]


def problems_in_file(errors: Sequence[ConfigError], text: str) -> list[Problem]:
    """Return those errors of the configuration that concern one automation, as problems of its text."""
    try:
        root = read_spans(text)
    except InvalidRequest as error:
        return [_unreadable(error)]
    return [
        Problem(*_place(text, root, error.keys[2:]), error.keys[2:], error.message, error.hint)
        for error in errors[:PROBLEM_LIMIT]
    ]


def by_name(problems: Iterable[Problem], words: Catalogue) -> Mapping[str, str]:
    """Return messages by the name of the field, in the reader's language."""
    found: dict[str, str] = {}
    for each in problems:
        message = words.gettext(each.message)
        told = f"{message} ({words.gettext(each.hint)})" if each.hint else message
        found[each.name] = f"{found[each.name]}; {told}" if each.name in found else told
    return found


def _problem(text: str, root: SpanNode, error: Invalid) -> Problem:
    keys: list[Key] = [key if isinstance(key, int) else str(key) for key in error.path]
    message = REQUIRED if error.msg == REQUIRED_MESSAGE else error.msg
    return Problem(*_place(text, root, tuple(keys)), tuple(keys), message)


def _place(text: str, root: SpanNode | None, keys: KeyPath) -> tuple[int, int]:
    """Return line and column of a key, or of the nearest existing thing around it."""
    if root is None:
        return 1, 1
    node, at = root, root.start
    for key in keys:
        pair = node.entry(key) if isinstance(key, str) else None
        below = child(node, key)
        if below is None:
            break
        at = pair[0].start if pair is not None else below.start
        node = below
    start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, at - start + 1


def _unreadable(error: InvalidRequest) -> Problem:
    mark = getattr(error.__cause__, "problem_mark", None)
    told = str(getattr(error.__cause__, "problem", "") or "") or error.message
    return Problem(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, (), f"this is not valid YAML: {told}")
