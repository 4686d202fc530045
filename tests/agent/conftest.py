"""Fixtures of the agent's tests."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests import databases
from tests.agent.house import AgentHouse, standing
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
def form(request: pytest.FixtureRequest) -> str:
    """How transcripts are kept: as files, where a test does not say otherwise."""
    if getattr(request, "param", "table") == "file" and databases.ADDRESS in os.environ:
        pytest.skip("transcripts are files only beside SQLite")
    return str(getattr(request, "param", "file"))


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer, form: str) -> AsyncIterator[AgentHouse]:
    """A runner with one agent over the scripted server."""
    async with standing(AgentHouse(tmp_path / "home", openai_server.base_url, form=form)) as house:
        yield house
