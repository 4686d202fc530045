"""What Home Assistant has and this home does not is refused by name, with the reason; nothing is taken and ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.automation.conformance.told import errors_of

CASES: dict[str, Any] = YAML(typ="safe").load((Path(__file__).parent / "refused.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_it_is_refused_by_name(case: dict[str, Any], tmp_path: Path) -> None:
    found = errors_of(tmp_path, case)

    told = " ".join(f"{each.message} {each.hint}" for each in found)
    assert [words for words in case["says"] if words not in told] == []
    assert {each.file for each in found} == {"automations.yaml"}
