"""Mistakes in automations, scripts and inputs of blueprints: the place and the message of each."""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub.config.errors import ConfigError
from tests.automation.conformance.told import errors_of

MISTAKES = Path(__file__).parent / "mistakes"
LEAST = 80
_HELPFUL = re.compile(
    r"expected|did you mean|there are|use |use$|needs|is missing|at least|at most|exclude|in quotes"
    r"|may only be|give each|come from|put it inside|name the|name entities|write a script|one too many",
    re.IGNORECASE,
)
"""Words that say what to write instead."""


def mistakes() -> list[Any]:
    found = []
    for file in sorted(MISTAKES.glob("*.yaml")):
        for name, case in YAML(typ="safe").load(file.read_text(encoding="utf-8")).items():
            found.append(pytest.param(case, id=f"{file.stem}: {name}"))
    return found


def differences(error: ConfigError | None, expected: dict[str, Any] | None) -> list[str]:
    """Return what of an error is not as the catalogue says."""
    if error is None or expected is None:
        return [f"got {error}, expected {expected}"]
    told = error.as_dict()
    exact = {
        "file": expected.get("file", "automations.yaml"),
        **{key: expected[key] for key in ("line", "column", "path")},
    }
    wrong = [f"{key}: {told[key]!r} is not {value!r}" for key, value in exact.items() if told[key] != value]
    wrong += [f"{key}: {told[key]!r}" for key in ("message", "hint") if expected.get(key, "") not in told[key]]
    return [f"{error} -- {each}" for each in wrong]


@pytest.mark.parametrize("case", mistakes())
def test_a_mistake_is_told_where_it_stands_and_what_was_expected(case: dict[str, Any], tmp_path: Path) -> None:
    found = errors_of(tmp_path, case)

    assert [wrong for pair in zip_longest(found, case["errors"]) if (wrong := differences(*pair))] == []
    assert found
    assert [str(each) for each in found if not _HELPFUL.search(f"{each.message} {each.hint}")] == []


def test_the_catalogue_is_a_long_one() -> None:
    assert len(mistakes()) >= LEAST
