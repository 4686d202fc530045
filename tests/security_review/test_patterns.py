"""No text is read over and over: every regular expression of the program, and what compares and draws texts.

Nothing here asserts a duration; what takes minutes instead of moments runs into the limit of the test.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import hub
import integrations
import web
from hub.core.lazy_pattern import LazyPattern
from hub.core.schema import Invalid, positive_seconds
from hub.core.secret import MASK
from hub.models.contract import ToolCallBlock
from hub.models.managed import ARGUMENTS_DEPTH_LIMIT, bound_call
from hub.security.redaction import Redactor
from hub.security.secret_patterns import SECRET_PATTERNS
from integrations.tools.files.differences import difference
from integrations.tools.files.editing import Replacement, apply_edits, fold
from tests.lengths import rounds, some
from web.chat.markdown import Markdown

SIZE = rounds(3_000, 1_500)
UNITS = (
    "a",
    "1",
    " ",
    "\n",
    "-",
    "_",
    ".",
    ":",
    "/",
    "[",
    "(",
    "`",
    "*",
    "<",
    "=",
    "#",
    "@",
    "a ",
    "1 ",
    "a.",
    "a-",
    "- ",
)
APART = {"_TOKEN", "_ONLY_COMMENTS"}
"""Only ever matched at one place of a text of bounded length, never searched for."""

AT_THE_BEGINNING = {
    "hub.automation.schedule.fixed._ZONED",
    "hub.memory.tidy.promotion._SMALL_TALK",
    "hub.security.network_schema._TARGET",
}
"""Only ever matched at the beginning of a text, never searched for."""


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for package in (hub, integrations, web):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith(("__main__", "grep_worker")):
                continue
            try:
                loaded = importlib.import_module(module.name)
            except ImportError:
                continue  # an extra that is not installed
            for name, held in vars(loaded).items():
                value = held.compiled if isinstance(held, LazyPattern) else held
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str) and name not in APART:
                    yield f"{module.name}.{name}", value
    for shape in SECRET_PATTERNS:
        yield shape.hints[0], shape.pattern.compiled


def test_no_pattern_of_the_program_takes_the_square_of_a_text() -> None:
    seen = dict(patterns())

    for turn, (name, pattern) in enumerate(seen.items()):
        words = re.findall(r"[A-Za-z]{3,}", pattern.pattern)[:2]
        of_pattern = (*words, *(f"{word} " for word in words), *(f"{word}-" for word in words))
        for unit in (*some(UNITS, turn, one_of=3), *of_pattern):
            text = (unit * (SIZE // len(unit) + 1))[:SIZE]
            for end in ("", "\x00"):
                if name not in AT_THE_BEGINNING:
                    pattern.search(text + end)
                pattern.match(text + end)
                pattern.fullmatch(text + end)

    assert len(seen) > 80
    assert seen.keys() >= AT_THE_BEGINNING


def test_a_long_text_that_looks_like_the_beginning_of_secrets_is_redacted_in_one_go() -> None:
    redactor = Redactor()
    token = "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK"

    assert redactor.redact("eyJaaaaaaaa-" * 80_000).startswith("eyJa")
    assert redactor.redact(f"({token}) {token}") == f"({MASK}) {MASK}"


def test_a_duration_of_blanks_is_refused_in_one_go() -> None:
    with pytest.raises(Invalid):
        positive_seconds(" " * 100_000 + "x")


@pytest.mark.parametrize("mark", ["[", "![", "[a](", "*a **a ", "~~a", "***a", "_a __", "[x][", "`", "> ", "|", "<"])
def test_marks_without_end_are_shown(mark: str) -> None:
    assert Markdown().render(mark * (99_000 // len(mark)))


def test_texts_are_compared_within_bounds() -> None:
    lines = [str(number * 7919 % 300) for number in range(200_000)]
    text = "\n".join(lines)

    assert "too many" in difference(text.encode(), text.replace("1", "2").encode(), "f")
    assert len(fold(" \t" * 500_000 + "x \n" * 100_000).text) == 200_001
    with pytest.raises(Exception, match="is not in f"):
        apply_edits("ab" * 100_000, [Replacement("ba" * 90_000 + "x", "y")], "f")


@pytest.mark.parametrize("depth", [ARGUMENTS_DEPTH_LIMIT - 1, ARGUMENTS_DEPTH_LIMIT + 1, 900, 100_000])
def test_arguments_are_taken_as_deep_as_everything_behind_can_go(depth: int) -> None:
    nested: dict[str, object] = {}
    for _ in range(depth - 1):
        nested = {"a": nested}

    call = bound_call(ToolCallBlock("c", "ls", nested))

    assert (call.malformed is None) is (depth < ARGUMENTS_DEPTH_LIMIT)
    while nested:  # taken apart by hand: freeing it would go as deep
        nested = nested.pop("a", {})  # type: ignore[assignment]
