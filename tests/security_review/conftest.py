"""Fixtures: a whole hub with its dashboard, in this process so that its tables can be walked, on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.security_review.besieged import Besieged, besieged
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    """A hub with an owner, a second person, and a chat platform on which strangers may write."""
    async with besieged(tmp_path / "home", openai_server) as standing:
        yield standing
