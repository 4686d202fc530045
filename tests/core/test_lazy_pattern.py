"""Expressions that are compiled on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hub.core.lazy_pattern import LazyPattern

COMPILED_AT_IMPORT = """
import gc
import hub.memory.alike, hub.memory.days_asked
from hub.core.lazy_pattern import LazyPattern
patterns = [each for each in gc.get_objects() if isinstance(each, LazyPattern)]
print(len(patterns) > 20, sum("compiled" in vars(each) for each in patterns))
"""


def test_what_tidying_looks_for_is_not_compiled_when_it_is_imported() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", COMPILED_AT_IMPORT], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stdout.split() == ["True", "0"]


@pytest.mark.parametrize("text", ["", "a1 b22", "no number"])
def test_it_finds_what_the_expression_itself_finds(text: str) -> None:
    lazy = LazyPattern(r"\d+")
    real = lazy.compiled

    assert lazy.findall(text) == real.findall(text)
    assert lazy.sub("#", text) == real.sub("#", text)
    assert [each.span() for each in lazy.finditer(text)] == [each.span() for each in real.finditer(text)]
    for name in ("search", "match", "fullmatch"):
        one, other = getattr(lazy, name)(text), getattr(real, name)(text)
        assert (one and one.span()) == (other and other.span())
