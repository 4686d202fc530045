"""Speech: what a model or a program says is sent as a voice message, and what is missing is named."""

from __future__ import annotations

import io
import json
import sys
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.addresses import Addresses
from hub.automation.services.agent_messages import AgentMessages
from hub.core.errors import HubError, LimitExceeded, TimedOut, Unavailable
from hub.core.schema import SchemaError, describe_error
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.contract import ChannelLimits, MediaKind, OutboundMedia
from integrations.tools.speech import speaker
from integrations.tools.speech.schema import CONFIG_SCHEMA
from integrations.tools.speech.tool import speech_tool
from integrations.tools.speech_program import speak_by_program, with_sizes
from tests.messaging.post import Pigeons, Post
from tests.servers.openai_server import OpenAIServer

SPEAKER = """
import sys, wave
text = sys.stdin.read()
with wave.open(sys.stdout.buffer, "wb") as out:
    out.setnchannels(1)
    out.setsampwidth(2)
    out.setframerate(8_000)
    out.writeframes(f"{sys.argv[1]}: {text}".encode("utf-16-le"))
"""
MODEL = {"model": "test/tts-1", "voice": "alloy"}


def program(source: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", source]


def frames_of(data: bytes) -> str:
    with wave.open(io.BytesIO(data)) as recording:
        return str(recording.readframes(recording.getnframes()), "utf-16-le")


async def test_a_program_speaks() -> None:
    data = await speak_by_program([*program(SPEAKER), "{voice}"], "Good morning, 早上好.", "en-gb")

    assert frames_of(data) == "en-gb: Good morning, 早上好."


@pytest.mark.parametrize(
    ("command", "error", "words"),
    [
        (["/nowhere/piper"], Unavailable, "/nowhere/piper cannot be started"),
        (program("import sys; sys.exit('no such model')"), Unavailable, "exit code 1: no such model"),
        (program("print('hello')"), Unavailable, "wrote no recording"),
        (program("import sys; sys.stdin.read()"), Unavailable, "wrote no recording"),
        (program("print('RIFF' + 'x' * 5_000)"), LimitExceeded, "larger than 1,000 bytes"),
    ],
)
async def test_a_program_that_does_not_speak_says_why(command: list[str], error: type[HubError], words: str) -> None:
    with pytest.raises(error) as failed:
        await speak_by_program(command, "Hello.", "", limit_bytes=1_000)

    assert words in failed.value.message


async def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimedOut, match=r"longer than 0\.05 s"):
        await speak_by_program(program("while True: pass"), "Hello.", "", timeout_s=0.05)


async def test_a_program_sees_nothing_of_the_hubs_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMARUS_SECRET", "7731")
    source = "import os, sys; sys.exit('environment: ' + str(os.environ.get('HOMARUS_SECRET')))"

    with pytest.raises(Unavailable, match="environment: None"):
        await speak_by_program(program(source), "Hello.", "")


def test_sizes_that_were_not_known_yet_are_filled_in() -> None:
    whole = io.BytesIO()
    with wave.open(whole, "wb") as out:
        out.setparams((1, 2, 8_000, 0, "NONE", ""))
        out.writeframes("早上好".encode("utf-16-le"))
    data = whole.getvalue()
    streamed = data[:4] + b"\xff\xff\xff\x7f" + data[8:40] + b"\xff\xff\xff\x7f" + data[44:]

    assert with_sizes(streamed) == data == with_sizes(data)
    assert with_sizes(b"OggS and more") == b"OggS and more"


class Criers(Pigeons):
    """A channel that sends recordings, or none."""

    def __init__(self, *media: MediaKind) -> None:
        super().__init__(limits=ChannelLimits(caption=100, media=frozenset(media)))


@pytest.fixture
def config() -> dict[str, Any]:
    return MODEL


@pytest.fixture
def criers() -> Criers:
    return Criers(MediaKind.AUDIO)


@pytest.fixture
async def post(
    tmp_path: Path, openai_server: OpenAIServer, criers: Criers, config: dict[str, Any]
) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, criers, access=AccessPolicy(dm=DmPolicy.OPEN))
    house = post
    messages = AgentMessages(
        house.db, post.outbox, Addresses(house.db, lambda: post.people, post.channels), house.workspaces
    )
    house.tools.register(
        speech_tool(messages, house.workspaces, speaker(house.models, CONFIG_SCHEMA(config)), lambda _: None)
    )
    await post.open()
    yield post
    await post.close()


def recording_in(media: OutboundMedia) -> bytes:
    return Path(media.path).read_bytes()


async def said(post: Post, server: OpenAIServer, **arguments: Any) -> str:
    """Have the agent say something, and return what it read of that."""
    server.queue({"tool_call": {"name": "tts", "arguments": arguments}}, "NO_REPLY")
    await post.said("say it", "m1")
    await post.until(lambda: len(server.requests()) >= 2)
    (result,) = (each for each in server.requests()[-1]["body"]["messages"] if each["role"] == "tool")
    return str(result["content"])


async def test_what_a_model_speaks_is_a_voice_message_of_the_conversation(
    post: Post, openai_server: OpenAIServer
) -> None:
    result = await said(post, openai_server, text="Dinner is ready.", voice="nova")

    assert json.loads(result) == {"state": "sent", "message_ids": ["1"]}
    (message,) = post.pigeons.sent
    (media,) = message.media
    assert (message.address.peer, message.text) == ("7", "")
    assert (media.kind, media.mime_type, media.voice) == (MediaKind.AUDIO, "audio/ogg", True)
    assert recording_in(media) == b"OggS Dinner is ready. (nova)"
    assert media.path.startswith(str(post.agents.default().workspace / "media"))


@pytest.mark.parametrize("config", [{"command": [*program(SPEAKER), "{voice}"], "voice": "en"}])
async def test_what_a_program_speaks_is_a_recording(post: Post, openai_server: OpenAIServer) -> None:
    await said(post, openai_server, text="Dinner is ready.")

    (media,) = post.pigeons.sent[0].media
    assert (media.mime_type, media.voice) == ("audio/wav", False)
    assert frames_of(recording_in(media)) == "en: Dinner is ready."


@pytest.mark.parametrize("criers", [Criers(MediaKind.IMAGE)])
async def test_a_chat_app_without_recordings_is_named_before_anything_is_spoken(
    post: Post, openai_server: OpenAIServer
) -> None:
    result = await said(post, openai_server, text="Dinner is ready.")

    assert "test cannot send recordings. test can: send, reply" in result
    assert openai_server.requests("/v1/audio/speech") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text": ""}, "text"),
        ({"text": "x" * 4_001}, "text"),
        ({"text": "Hello.", "voice": "--help"}, "expected letters, digits"),
        ({"text": "Hello.", "voice": "../alloy"}, "expected letters, digits"),
        ({"text": "Hello.", "voice": "nobody"}, "voice: nobody"),
    ],
)
async def test_what_cannot_be_spoken_is_refused_with_the_reason(
    post: Post, openai_server: OpenAIServer, arguments: dict[str, Any], words: str
) -> None:
    assert words in await said(post, openai_server, **arguments)
    assert post.pigeons.sent == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({**MODEL, "command": ["piper"]}, "expected either model"),
        ({"model": "openai/tts-1"}, "the name of a voice of the model"),
        ({"command": ["espeak-ng", "-v", "{voice}"]}, "what {voice} is in the command"),
        ({"command": "espeak-ng --stdout"}, "list"),
        ({"command": []}, "command"),
        ({**MODEL, "voice": "-v"}, "expected letters, digits"),
        ({**MODEL, "format": "aac"}, "opus"),
    ],
)
def test_a_mistake_in_the_configuration_says_what_was_expected(config: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError) as refused:
        CONFIG_SCHEMA(config)

    assert words in describe_error(refused.value)
