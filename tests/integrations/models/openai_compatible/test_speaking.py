"""Texts are sent as the API wants them, and come back as recordings; what is none is an error that says why."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import HubError, LimitExceeded
from hub.models.contract import AuthError, FormatError, Overloaded, RateLimited
from hub.models.speech import AUDIO_LIMIT_BYTES, SpeechRequest, audio_kind
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.integrations.models.openai_compatible.conftest import KEY
from tests.servers.openai_server import OpenAIServer

REQUEST = SpeechRequest("tts-1", "Good morning, 早上好.", "alloy", "opus")


@pytest.mark.parametrize(
    ("form", "mime_type"),
    [("opus", "audio/ogg"), ("mp3", "audio/mpeg"), ("wav", "audio/wav"), ("flac", "audio/flac")],
)
async def test_a_text_becomes_a_recording(
    provider: OpenAIProvider, openai_server: OpenAIServer, form: str, mime_type: str
) -> None:
    data = await provider.speak(SpeechRequest("tts-1", REQUEST.text, "alloy", form))

    kind = audio_kind(data)
    assert kind is not None
    assert kind.mime_type == mime_type
    (request,) = openai_server.requests("/v1/audio/speech")
    assert request["body"] == {"model": "tts-1", "input": REQUEST.text, "voice": "alloy", "response_format": form}


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({"status": 401, "body": {"error": {"message": f"Incorrect API key: {KEY}"}}}, AuthError, "refuse"),
        ({"status": 429, "headers": {"retry-after": "7"}}, RateLimited, "scripted 429"),
        ({"status": 503}, Overloaded, "scripted 503"),
        ({"json": {"audio": "…"}}, FormatError, "application/json in place of a recording"),
        ({"json": "<html>", "content_type": "text/html"}, FormatError, "text/html in place of a recording"),
        ({"audio": b""}, FormatError, "in place of a recording"),
        ({"audio": b"OggS" + bytes(AUDIO_LIMIT_BYTES)}, LimitExceeded, "more than 20 MB"),
        ({"disconnect": True}, Overloaded, "cannot be reached"),
    ],
)
async def test_what_goes_wrong_is_an_error_of_its_kind(
    provider: OpenAIProvider, openai_server: OpenAIServer, answer: dict[str, Any], error: type[HubError], words: str
) -> None:
    openai_server.speech.append(answer)

    with pytest.raises(error) as failed:
        await provider.speak(REQUEST)

    assert words in failed.value.message
    assert KEY not in failed.value.message
    assert audio_kind(await provider.speak(REQUEST)) is not None


async def test_a_voice_that_the_server_does_not_know_is_named(provider: OpenAIProvider) -> None:
    with pytest.raises(FormatError, match="voice: nobody"):
        await provider.speak(SpeechRequest("tts-1", "Hello.", "nobody", "opus"))


@pytest.mark.parametrize("data", [b"", b"\xff", b"<html>", b"RIFF____AVI ", b"\xff\xf1aac", b"Ogg"])
def test_what_is_no_recording_is_not_taken_for_one(data: bytes) -> None:
    assert audio_kind(data) is None
