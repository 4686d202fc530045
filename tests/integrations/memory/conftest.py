"""A memory over a workspace of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.memory.notes_house import Notes


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)
