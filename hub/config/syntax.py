"""Explains YAML syntax errors."""

from __future__ import annotations

import re

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from hub.core.phrases import phrase

Told = tuple[int, int, str, str]
"""Line and column from 0, message, hint."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

_TAB_INDENT = re.compile(r" *\t")
_TAB = (phrase("a tab is used for indentation; YAML takes spaces only"), phrase("replace the tab by spaces"))

_AT_CONTEXT = ("while scanning a quoted scalar", "while scanning a simple key", "while parsing a flow ")
"""Contexts whose beginning is the line to fix, rather than where the parser gave up."""

_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        phrase("a colon is not expected here"),
        phrase(
            "check the indentation here and in the line above; put quotes around text that contains a colon and a space"
        ),
    ),
    ("could not find expected ':'", phrase("a key is not followed by a colon"), phrase("write key: value")),
    (
        "found unexpected end of stream",
        phrase("a quotation mark is not closed"),
        phrase("add the closing quotation mark"),
    ),
    (
        "expected ',' or ']'",
        phrase("a list in [ ] is not closed, or lacks a comma"),
        phrase("close it with ]"),
    ),
    (
        "expected ',' or '}'",
        phrase("a mapping in {{ }} is not closed, or lacks a comma"),
        phrase("close it with }}"),
    ),
    (
        "node content",
        phrase("a value is missing here, or a [ or {{ above is not closed"),
        phrase("close the bracket, or write the value"),
    ),
    (
        "did not find expected '-' indicator",
        phrase("this line is not indented like the items of the list above"),
        phrase("begin an item with - under the others, or indent the line"),
    ),
    (
        "did not find expected key",
        phrase("this line is not indented like the keys above, or a quotation mark ends too early"),
        phrase("indent it with spaces exactly like its neighbours"),
    ),
    (
        "block sequence entries are not allowed",
        phrase("a list item (-) is not expected here"),
        phrase("put it on a separate line"),
    ),
    (
        "found undefined tag handle",
        phrase("this tag is not known"),
        phrase("a tag has one exclamation mark, such as !include"),
    ),
    (
        "expected hexdecimal number",
        phrase("a backslash in double quotes begins a special character"),
        phrase("use single quotes"),
    ),
    (
        "found unknown escape character",
        phrase("a backslash in double quotes begins a special character"),
        phrase("use single quotes"),
    ),
)


def forbidden_character(text: str) -> Told | None:
    """Return the place of a forbidden character, such as a control character."""
    match = _FORBIDDEN.search(text)
    if match is None:
        return None
    line, column = position(text, match.start())
    code = f"U+{ord(match[0]):04X}"
    message = phrase("the invisible character {code} is not allowed here", code=code)
    return line, column, message, phrase("remove it, or write it as \\u…")


def position(text: str, index: int) -> tuple[int, int]:
    """Return line and column, from 0, of a character."""
    line = text.count("\n", 0, index)
    return line, index - (text.rfind("\n", 0, index) + 1)


def explain_syntax(error: YAMLError, text: str) -> Told:
    """Return the position of a syntax error, its meaning and its remedy."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return 0, 0, phrase("this is not YAML"), ""
    mark, problem, context = error.problem_mark, str(error.problem), str(error.context or "")
    if error.context_mark is not None and context.startswith(_AT_CONTEXT):
        mark = error.context_mark
    lines = text.split("\n")
    line = min(mark.line, max(0, len(lines) - 1))
    column = mark.column if line == mark.line else 0
    if _TAB_INDENT.match(lines[line]):
        return line, lines[line].index("\t"), *_TAB
    if "cannot start any token" in problem:
        sign = lines[line][column : column + 1]
        return line, column, phrase("a text cannot begin with {sign}", sign=sign), phrase("put quotes around it")
    for sign, message, hint in _WORDS:
        if sign in problem:
            return line, column, message, hint
    return line, column, phrase("this is not YAML: {problem}", problem=problem), ""
