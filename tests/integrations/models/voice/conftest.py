"""Fixtures for tests of engines: a home with models, and the provider on scripted engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from integrations.models.voice.catalogue import offer
from integrations.models.voice.installed import Model, VoiceFolder
from integrations.models.voice.provider import VoiceProvider, VoiceSettings
from tests.servers.scripted_engine import COMMAND


def put(folder: VoiceFolder, name: str, size_bytes: int = 1) -> None:
    """Put a model into its place that only scripted engines read."""
    found = offer(name)
    assert found is not None
    folder.finish(Model(name, found.engine, found.languages, size_bytes), folder.unfinished(name))


@pytest.fixture
def folder(tmp_path: Path) -> VoiceFolder:
    folder = VoiceFolder(tmp_path)
    put(folder, "whisper-tiny", 1)
    put(folder, "whisper-base", 2)
    put(folder, "en_US-joe-medium")
    put(folder, "de_DE-thorsten-medium")
    return folder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(folder: VoiceFolder, clock: ManualClock) -> AsyncIterator[VoiceProvider]:
    provider = VoiceProvider("voice", folder, VoiceSettings(command=COMMAND), clock)
    yield provider
    await provider.close()
