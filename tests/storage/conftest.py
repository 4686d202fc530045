"""What the tests of storage share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.storage.history import HistoryStore

NOON = 1_767_268_800.0


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[HistoryStore]:
    """A history that is open and empty."""
    history = HistoryStore(tmp_path / "history.db", wall_time=lambda: NOON)
    await history.open()
    yield history
    await history.close()
