"""Engines in temporary homes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.automation.engine_rig import Engine


@pytest_asyncio.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that is not started yet, and is stopped at the end if it runs."""
    made = Engine(tmp_path)
    yield made
    if made.running:
        await made.stop()
