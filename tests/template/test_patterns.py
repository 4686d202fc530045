"""Regular expressions are judged before they run: what could run away is refused, what people write is not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from hub.template.patterns import judged
from hub.template.work import BoundReached

RUNAWAY = [
    *["(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+b", "(a|ab|b)*c", "([a-z]+)*x", "(.*a){12}", "a*a*a*a*b", "(.*)(.*)(.*)x"],
    *[
        "(a?){40}a{40}",
        "(a{0,50}){0,50}b",
        "((a{1,9}){1,9}){1,9}b",
        "(?:a?b?)*c",
        r"(\w*\s*)*x",
        "(?=(a+)+$)",
        "(a|b|ab)*c",
    ],
]
HARMLESS = [
    *["error", r"\b(error|fail)\b", r"^light\.\w+$", r"(?i)hello|hi", r"[0-9]+", r"\d+(\.\d+)?", r"^\s*$", "a{2,5}"],
    *[
        r"(foo|bar)+",
        r"https?://\S+",
        r"(\w+)@(\w+)\.\w+",
        "^(yes|no)$",
        r"\bdoor\b.*\bopen\b",
        "[^,]+,[^,]+",
        "(?=.*a)b",
    ],
]


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_a_runaway_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BoundReached, match="may take too long"):
        judged(pattern, "a" * 2_000)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_harmless_pattern_may_look_at_a_message(pattern: str) -> None:
    assert judged(pattern, "word " * 40).pattern == pattern


@pytest.mark.parametrize("pattern", ["error", r"\b(error|fail)\b", r"^light\.\w+$", "[0-9]", "(foo|bar)"])
def test_a_simple_pattern_may_look_at_a_long_text(pattern: str) -> None:
    assert judged(pattern, "a" * 100_000).pattern == pattern


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?P<x>a)(?P=x)", r"(a)?(?(1)b|c)"])
def test_a_pattern_that_looks_back_is_refused(pattern: str) -> None:
    with pytest.raises(BoundReached, match="templates do not take"):
        judged(pattern, "aa")


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<x", "a{2,1}", "\\", "(?z)", "(" * 300])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a pattern"):
        judged(pattern, "a")


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(BoundReached, match="more than 500 characters"):
        judged("a" * 501, "a")


def test_the_same_pattern_is_fine_on_a_shorter_text() -> None:
    assert judged("(a*)(a*)b", "a" * 50).pattern == "(a*)(a*)b"
    with pytest.raises(BoundReached):
        judged("(a*)(a*)b", "a" * 5_000)


@given(st.text(alphabet="ab.*+?()[]|{}0123,^$\\wdsb-K ", max_size=30), st.text(alphabet="ab kK1", max_size=60))
def test_what_passes_the_judge_is_what_python_would_do(pattern: str, text: str) -> None:
    try:
        found = judged(pattern, text)
    except (BoundReached, ValueError):
        return

    assert (found.search(text) is None) == (re.search(pattern, text) is None)
