"""A hub whose agents have subagents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.subagents.test_subagents import Delegating
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Delegating]:
    post = Delegating(tmp_path / "home", openai_server.base_url)
    await post.open()
    yield post
    await post.close()
