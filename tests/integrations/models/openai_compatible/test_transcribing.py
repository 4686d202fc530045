"""Recordings are sent as the API wants them, and come back as text."""

from __future__ import annotations

import pytest

from hub.models.contract import AuthError, FormatError
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.integrations.models.openai_compatible.conftest import KEY
from tests.servers.openai_server import OpenAIServer


async def test_a_recording_becomes_text(provider: OpenAIProvider) -> None:
    assert await provider.transcribe("whisper-1", b"good morning", "a.ogg") == " good morning (whisper-1, .ogg) "


async def test_a_recording_that_the_server_cannot_read_is_an_error_with_its_words(provider: OpenAIProvider) -> None:
    with pytest.raises(FormatError, match="could not be decoded"):
        await provider.transcribe("whisper-1", b"noise", "a.ogg")


async def test_a_refused_key_is_told_without_the_key(provider: OpenAIProvider, openai_server: OpenAIServer) -> None:
    openai_server.key = "another"

    with pytest.raises(AuthError) as refused:
        await provider.transcribe("whisper-1", b"good morning", "a.ogg")

    assert KEY not in str(refused.value)
