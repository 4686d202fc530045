"""What the tests of tracing share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.storage.history import HistoryStore
from tests.automation.ground import NEW_YEAR


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[HistoryStore]:
    """A history that is open and empty."""
    history = HistoryStore(tmp_path / "history.db", wall_time=lambda: NEW_YEAR)
    await history.open()
    yield history
    await history.close()
