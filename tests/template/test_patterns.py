"""Regular expressions mean what Python makes of them, and none of them runs away."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from hub.core.clock import ManualClock
from hub.core.schema import Invalid
from hub.core.states import StateMachine
from hub.template.contract import TemplateFailed
from hub.template.engine import TemplateEngine
from hub.template.regexes import PATTERN_S
from hub.template.searching import SEARCH_S, SEARCHED_CHARS, PatternSearch, compile_pattern
from hub.template.work import TemplateLimits
from tests.template.conftest import BERLIN, Render

LONGEST_S = 0.05
"""The event loop waits no longer."""
RUNAWAY = ["(a|a)*b", "(a|aa)+b", "(a{0,50}){0,50}b", "((a{1,9}){1,9}){1,9}b", r"(\w|\w\w)+b"]
SLOW = [*RUNAWAY, "(a+)+$", r"(\w*\s*)*$", "(?=(a+)+$)b", "(a?){40}a{40}b", "(.*a){12}c"]
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
TEXTS = [
    *[
        "",
        "a",
        "ab",
        "aaa",
        "light.küche",
        "Hello",
        "hi there",
        "12.5 °C",
        "厨房 open",
        "KELVIN \u212a",
        "a{e}",
        "x{d}",
    ],
    *["a\n", "a\nb", "\n", "(a)", "foobar", "ann@example.org", "yes", "door is open", "a,b", "aa aa", "é è"],
]
MEANS = [
    *["a$", r"\Aa\Z", "^b", "(?m)^b", "(?s)a.b", "a.b", "(?i)KÜCHE", r"\w+", r"\bopen\b", r"\W", r"\d+\.\d", "[à-ÿ]+"],
    *[
        "(?i)k",
        "[^a]",
        "a{e}",
        "x{d}",
        "a{1}",
        "a{,2}",
        "a{}",
        "{a}",
        r"a\{e\}",
        "[{}]",
        r"(?:a){i}",
        r"\N{DEGREE SIGN}",
    ],
    *[
        r"(?P<first>\w)(?P=first)",
        r"(a)\1",
        r"(a)?(?(1)b|c)",
        r"(?<=is )open",
        r"(?<!a)b",
        r"(?!a)\w",
        "a*?b",
        "(?>a+)b",
    ],
    *["a++", r"(?x) a b # both", r"[\w.]+@[\w.]+", "(?:foo|bar)+$", "()", "", "|a", r"[\[\]]", r"\(a\)", "(?i:HELLO)"],
]


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Collect no garbage of other tests in the time that is measured."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("find", [*MEANS, *HARMLESS])
def test_a_pattern_means_what_python_makes_of_it(find: str) -> None:
    for ignorecase in (False, True):
        ours, python = (
            compile_pattern(find, ignorecase=ignorecase),
            re.compile(find, re.IGNORECASE if ignorecase else 0),
        )
        for text in TEXTS:
            assert [(each.span(), each.groups(), each.groupdict()) for each in ours.finditer(text)] == [
                (each.span(), each.groups(), each.groupdict()) for each in python.finditer(text)
            ]


@given(st.text(alphabet="ab.*+?()[]|{}0123,^$\\wdsbei-K ", max_size=30), st.text(alphabet="ab kK1{}e", max_size=60))
def test_what_is_taken_finds_what_python_finds(find: str, text: str) -> None:
    try:
        found = compile_pattern(find).search(text, timeout=SEARCH_S)
    except (ValueError, TimeoutError):
        return

    assert (found is None) == (re.search(find, text) is None)


@pytest.mark.parametrize("find", ["(", "[", "*", "(?P<x", "a{2,1}", "\\", "(?z)", "(" * 300, r"\p{L}", "(?R)", r"\q"])
def test_what_is_no_pattern_in_python_is_told(find: str) -> None:
    with pytest.raises(ValueError, match="is not a pattern"):
        compile_pattern(find)


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 500 characters"):
        compile_pattern("a" * 501)


@pytest.mark.parametrize("find", RUNAWAY)
def test_a_pattern_that_runs_away_on_a_short_text_is_refused_at_once(find: str) -> None:
    began = time.thread_time()
    with pytest.raises(Invalid, match="takes too long"):
        PatternSearch(find)

    assert time.thread_time() - began < LONGEST_S


@pytest.mark.parametrize("find", HARMLESS)
def test_a_harmless_pattern_looks_through_the_longest_part(find: str) -> None:
    search = PatternSearch(find)
    search("word " * 2_000)

    assert search.limit == SEARCHED_CHARS[0]


def test_a_search_that_takes_too_long_looks_through_less_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    search = PatternSearch(r"x*(\w+)-(\w+)#")

    began = time.thread_time()
    found = search(f"a-b# {'a' * 4_000}-#"), search(f"{'a' * 4_000}-#")
    took_s = time.thread_time() - began

    assert found[0] is not None
    assert found[1] is None
    assert took_s < LONGEST_S
    assert 0 < search.limit < SEARCHED_CHARS[0]
    assert f"looks through {search.limit} characters" in caplog.text


@pytest.mark.parametrize("find", SLOW)
@pytest.mark.parametrize("call", ["regex_search", "regex_match", "regex_findall", "regex_replace"])
def test_a_template_with_a_slow_pattern_is_ended_in_time(
    states: StateMachine, clock: ManualClock, find: str, call: str
) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(cpu_s=60.0))
    template = templates.compile(f"{{{{ text | {call}(find) }}}}")
    template.compiled()

    began = time.thread_time()
    try:
        template.render({"text": "a" * 3_000 + "!bc", "find": find})
    except TemplateFailed as failed:
        assert "takes too long on 3003 characters" in failed.message  # noqa: PT017  some are quick in one of the calls
        assert repr(find) in failed.message  # noqa: PT017
    took_s = time.thread_time() - began

    assert took_s < PATTERN_S + LONGEST_S / 2


def test_a_slow_pattern_has_no_more_time_than_its_template(states: StateMachine, clock: ManualClock) -> None:
    templates = TemplateEngine(states, clock, lambda: BERLIN, limits=TemplateLimits(cpu_s=0.005))

    began = time.thread_time()
    with pytest.raises(TemplateFailed, match=r"too long|of work"):
        templates.compile("{{ ('a' * 3000) | regex_search('(a|aa)+b') }}").render({})

    assert time.thread_time() - began < LONGEST_S


def test_groups_are_referred_to_as_in_home_assistant(render: Render) -> None:
    assert render(r"{{ 'hello' | regex_search('(l)\\1') }}") is True
    assert render(r"{{ 'a-b' | regex_replace('(?P<x>a)-(b)', '\\2-\\g<x>') }}") == "b-a"
    assert render(r"{{ 'aXbX' | regex_replace('x', '_', ignorecase=True) }}") == "a_b_"
