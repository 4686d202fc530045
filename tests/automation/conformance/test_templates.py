"""Templates as Home Assistant's pages show them, each of our own writing, and what it gives: `templates.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub.automation.engine.parts import AutomationParts
from tests.automation.conformance.house import local_time
from tests.automation.ground import make_parts

PAGE: Mapping[str, Any] = YAML(typ="safe").load((Path(__file__).parent / "templates.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def parts() -> AutomationParts:
    made = make_parts(start=local_time("2026-06-01 12:00"))
    for entity_id, state in PAGE["states"].items():
        told = dict(state) if isinstance(state, Mapping) else {"state": state}
        made.states.set(entity_id, str(told.pop("state")), told)
    return made


@pytest.mark.parametrize(("text", "value"), PAGE["gives"].items())
async def test_it_gives(parts: AutomationParts, text: str, value: Any) -> None:
    found = parts.templates.render_value(text, {})

    assert (list(map(list, found)) if isinstance(found, list) and isinstance(found[0], tuple) else found) == value
