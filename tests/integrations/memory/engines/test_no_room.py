"""A disk without room: the change fails as a whole where the engine can, and what was there is still found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.memory.engines.kinds import IN_FILES, Both
from tests.integrations.memory.engines.tight_writer import FIRST, MORE

LONG_ENOUGH_S = 100
CHROMA_S = 40
"""It may hang, which is waited for in vain."""
HANGS = "hangs"
AS_IT_SHOULD_BE = {"happened": "OSError", "found": [5], "after": [FIRST + MORE]}


def told_by_a_process(kind: str, directory: Path) -> dict[str, Any]:
    """Return what the writer says; one that hangs with all its threads is killed, as the hub does with its worker."""
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "tests.integrations.memory.engines.tight_writer", kind, str(directory)],
            capture_output=True,
            text=True,
            check=True,
            timeout=CHROMA_S if kind == "chroma" else LONG_ENOUGH_S,
        )
    except subprocess.TimeoutExpired:
        return {"happened": HANGS}
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


@pytest.mark.parametrize("kind", IN_FILES)
def test_a_change_that_finds_no_room_is_told_and_undone(kind: str, tmp_path: Path) -> None:
    told = told_by_a_process(kind, tmp_path)

    both = Both(kind, tmp_path)
    both.put([FIRST + MORE])

    # Chroma writes in parts, and may hang instead of saying so, or miss in that process what is added later.
    assert told == AS_IT_SHOULD_BE or (kind == "chroma" and told["happened"] in ("OSError", "EngineUnavailable", HANGS))
    assert both.ids() >= {*range(FIRST), FIRST + MORE}
    assert len(both.ids()) == FIRST + 1 or kind == "chroma"
    assert both.find(7)[0] == 7
    both.close()
