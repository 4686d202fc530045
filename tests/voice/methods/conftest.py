"""A hub that hears by a scripted server, and speaks by espeak-ng."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

UNUSED = ("entities", "memory", "model accounts", "pairing", "sandboxes", "skills", "automation")


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    """A hub that talks."""
    async with HubFixture(
        tmp_path,
        openai_server.base_url,
        sections={
            "voice": {},
            "messages": {"media": {"transcription_model": "test/whisper"}},
            "agents": [{"id": "main", "default": True}, {"id": "kitchen"}],
        },
        integrations=("openai_compatible", "webchat", "voice"),
        without=UNUSED,
    ) as hub:
        yield hub
