"""Each construct that Home Assistant's documentation shows, with a case of our own: see `README.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.automation.conformance.house import ConformanceHouse
from tests.automation.conformance.story import Story

CASES = Path(__file__).parent / "cases"


def cases() -> list[Any]:
    found = []
    for file in sorted(CASES.glob("*.yaml")):
        for name, case in YAML(typ="safe").load(file.read_text(encoding="utf-8")).items():
            found.append(pytest.param(case, id=f"{file.stem}: {name}"))
    return found


@pytest.mark.parametrize("case", cases())
async def test_it_does_what_it_says(case: dict[str, Any], tmp_path: Path) -> None:
    house = ConformanceHouse(tmp_path, case)
    await house.start()

    try:
        await Story(house).play(case["story"])
    finally:
        if house.running:
            await house.stop()
