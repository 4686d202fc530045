"""Fixtures for tests of one channel against a server of its platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from tests.integrations.channels.rig import Rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A database and an inbox for the channel of a test."""
    rig = Rig(tmp_path, ManualClock())
    await rig.open()
    yield rig
    await rig.close()
