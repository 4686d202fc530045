"""YAML's syntax errors in words that say what to do."""

from __future__ import annotations

import re

from ruamel.yaml.error import MarkedYAMLError, YAMLError

Told = tuple[int, int, str, str]
"""Line and column from 0, message, hint."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

_TAB_INDENT = re.compile(r" *\t")
_TAB = ("a tab is used for indentation; YAML takes spaces only", "replace the tab by spaces")

_AT_CONTEXT = ("while scanning a quoted scalar", "while scanning a simple key", "while parsing a flow ")
"""Contexts whose beginning is the line to fix, rather than where the parser gave up."""

_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a colon is not expected here",
        "check the indentation here and in the line above; put quotes around a text that holds a colon and a space",
    ),
    (
        "found unexpected ':'",
        "a text that holds a colon must stand in quotes inside { } and [ ]",
        'put quotes around it, such as "http://127.0.0.1:8000", or write the mapping on separate lines',
    ),
    ("could not find expected ':'", "a key is not followed by a colon", "write key: value"),
    ("found unexpected end of stream", "a quotation mark is not closed", "add the closing quotation mark"),
    ("did not find expected ',' or ']'", "a list in [ ] is not closed, or lacks a comma", "close it with ]"),
    ("did not find expected ',' or '}'", "a mapping in { } is not closed, or lacks a comma", "close it with }"),
    (
        "did not find expected node content",
        "a value is missing here, or a [ or { above is not closed",
        "close the bracket, or write the value",
    ),
    (
        "did not find expected '-' indicator",
        "this line is not indented like the items of the list above",
        "begin an item with - under the others, or indent the line",
    ),
    (
        "did not find expected key",
        "this line is not indented like the keys above, or a quotation mark ends too early",
        "indent it with spaces exactly like its neighbours",
    ),
    ("block sequence entries are not allowed", "a list item (-) is not expected here", "put it on a separate line"),
    ("found undefined tag handle", "this tag is not known", "a tag has one exclamation mark, such as !include"),
    ("expected hexdecimal number", "a backslash in double quotes begins a special character", "use single quotes"),
    ("found unknown escape character", "a backslash in double quotes begins a special character", "use single quotes"),
)


def forbidden_character(text: str) -> Told | None:
    """Return the place of a forbidden character, such as a control character."""
    match = _FORBIDDEN.search(text)
    if match is None:
        return None
    line, column = position(text, match.start())
    code = f"U+{ord(match[0]):04X}"
    return line, column, f"the invisible character {code} is not allowed here", "remove it, or write it as \\u…"


def position(text: str, index: int) -> tuple[int, int]:
    """Return line and column, from 0, of a character."""
    line = text.count("\n", 0, index)
    return line, index - (text.rfind("\n", 0, index) + 1)


def explain_syntax(error: YAMLError, text: str) -> Told:
    """Return where a syntax error is, what it means and what to do."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return 0, 0, "this is not YAML", ""
    mark, problem, context = error.problem_mark, str(error.problem), str(error.context or "")
    if error.context_mark is not None and context.startswith(_AT_CONTEXT):
        mark = error.context_mark
    lines = text.split("\n")
    line = min(mark.line, max(0, len(lines) - 1))
    column = mark.column if line == mark.line else 0
    if _TAB_INDENT.match(lines[line]):
        return line, lines[line].index("\t"), *_TAB
    if "cannot start any token" in problem:
        return line, column, f"a text cannot begin with {lines[line][column : column + 1]}", "put quotes around it"
    for sign, message, hint in _WORDS:
        if sign in problem:
            return line, column, message, hint
    return line, column, f"this is not YAML: {problem}", ""
