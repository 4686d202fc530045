"""Fixtures of the tests of agent programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.house import standing
from tests.integrations.models.acp.acp_house import AcpHouse


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[AcpHouse]:
    async with standing(AcpHouse(tmp_path)) as house:
        assert isinstance(house, AcpHouse)
        yield house
