"""Fixtures of the services' tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.automation.services.desk import Desk
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def desk(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Desk]:
    """What automations work with, over the scripted server."""
    desk = Desk(tmp_path / "home", openai_server.base_url)
    await desk.open()
    yield desk
    await desk.close()
