"""Fixtures of the tools' tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from integrations.tools import sessions
from tests.integrations.tools.standing import ANNAS, GROUP, MAIN, Standing


@pytest.fixture
def standing(tmp_path: Path) -> Standing:
    """The parts of a hub that tools need."""
    return Standing(tmp_path / "home")


@pytest.fixture
async def place(standing: Standing) -> AsyncIterator[Standing]:
    """The hub with a conversation of the owner, one of Anna, one of a group, and the tools about conversations."""
    await standing.db.open()
    await standing.sessions.open()
    await standing.approvals.open()
    await standing.set_up(sessions)
    for key, person in ((MAIN, "me"), (ANNAS, "anna"), (GROUP, None)):
        await standing.sessions.ensure(key, person=person)
    yield standing
    await standing.end()
    await standing.approvals.close()
    await standing.sessions.close()
    await standing.db.close()
