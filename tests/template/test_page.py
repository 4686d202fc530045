"""`docs/templates.md` names all that templates have, all that they do not have, and the bounds as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hub.template.contract import HUB_FUNCTIONS
from hub.template.deferred import ROUNDS
from hub.template.engine import TemplateEngine
from hub.template.formatting import WIDTH_LIMIT
from hub.template.lists import RANGE_LIMIT
from hub.template.native import PARSED_CHARS
from hub.template.numbers import PRECISION_LIMIT
from hub.template.refused import REFUSED
from hub.template.regexes import PATTERN_S
from hub.template.searching import PATTERN_CHARS
from hub.template.work import TemplateLimits

PAGE = (Path(__file__).parents[2] / "docs" / "templates.md").read_text(encoding="utf-8")
HAS, _, REST = PAGE.partition("## What there is not")
HAS_NOT, _, BOUNDS = REST.partition("## How far it may go")


def named(text: str) -> set[str]:
    """The names between backticks in the tables of a text."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_everything_that_templates_have_is_named(templates: TemplateEngine) -> None:
    sandbox = templates._environment()
    names = {*sandbox.filters, *sandbox.globals, *sandbox.tests, *HUB_FUNCTIONS}

    missing = {name for name in names if name.isidentifier() and not name.startswith("_")} - named(HAS)

    assert missing == set()


def test_what_the_page_promises_is_there(templates: TemplateEngine) -> None:
    sandbox = templates._environment()
    promised = named(HAS.partition("## What there is\n")[2])

    assert promised - {*sandbox.filters, *sandbox.globals, *sandbox.tests, *HUB_FUNCTIONS} == set()


def test_everything_that_is_refused_is_named() -> None:
    assert set(REFUSED) - named(HAS_NOT) == set()


def test_nothing_is_both_there_and_refused(templates: TemplateEngine) -> None:
    sandbox = templates._environment()

    assert REFUSED.keys() & {*sandbox.filters, *sandbox.globals, *sandbox.tests} == set()


@pytest.mark.parametrize(
    "number",
    [
        *[
            TemplateLimits().source_chars,
            TemplateLimits().source_parts,
            TemplateLimits().output_chars,
            TemplateLimits().text_chars,
        ],
        *[
            TemplateLimits().total_chars,
            TemplateLimits().steps,
            TemplateLimits().value_weight,
            TemplateLimits().number_bits,
            TemplateLimits().call_depth,
        ],
        *[TemplateLimits().cpu_s, RANGE_LIMIT, WIDTH_LIMIT, PRECISION_LIMIT, PATTERN_CHARS, PATTERN_S],
    ],
)
def test_each_bound_is_told_as_it_is(number: float) -> None:
    assert re.search(rf"(?<![\d,]){number:,}(?![\d,])", BOUNDS)


def test_the_other_numbers_of_the_page_are_true() -> None:
    assert f"{PARSED_CHARS:,} characters stay text" in PAGE
    assert f"up to {ROUNDS} times" in PAGE
