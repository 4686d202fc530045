"""`tts.*` as OpenClaw's clients call it."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.rig import connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.voice.methods.test_talk import asked

UNUSED = ("entities", "memory", "model accounts", "nodes", "pairing", "sandboxes", "skills", "automation")


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    """A hub with voice messages."""
    async with HubFixture(
        tmp_path,
        openai_server.base_url,
        sections={"speech": {"model": "test/tts-1", "voice": "alloy"}},
        integrations=("openai_compatible", "webchat", "speech"),
        without=UNUSED,
    ) as hub:
        yield hub


async def test_a_text_becomes_a_recording_sent_or_stored(house: HubFixture) -> None:
    async with connected(house) as phone:
        spoken = await asked(phone, "tts.speak", text="Tea is ready.")
        stored = await asked(phone, "tts.convert", text="Tea is ready.", voiceId="nova")
        bad = await phone.call("tts.convert", {"text": ""})

    assert base64.b64decode(spoken["audioBase64"]).endswith(b" Tea is ready. (alloy)")
    assert (spoken["provider"], spoken["mimeType"]) == ("test", "audio/ogg")
    assert _read(stored["audioPath"]).endswith(b" Tea is ready. (nova)")
    assert stored["voiceCompatible"]
    assert bad["error"]["code"] == "INVALID_REQUEST"


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_a_client_chooses_whether_answers_are_spoken_and_it_is_kept(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.read"]) as watcher, connected(house) as phone:
        before = await asked(watcher, "tts.status")
        enabled = await asked(phone, "tts.enable")
        always = await asked(watcher, "tts.status")
        await house.integrations.reload("speech")
        kept = await asked(watcher, "tts.status")
        disabled = await asked(phone, "tts.disable")
        off = await asked(watcher, "tts.status")
        denied = await watcher.call("tts.enable")

    assert (before["enabled"], before["auto"], before["provider"]) == (True, "tagged", "test")
    assert enabled == {"enabled": True}
    assert always["auto"] == kept["auto"] == "always"
    assert disabled == {"enabled": False}
    assert (off["enabled"], off["auto"]) == (False, "off")
    assert denied["error"]["details"]["missingScope"] == "operator.write"


async def test_there_is_one_provider_and_no_other_can_be_chosen(house: HubFixture) -> None:
    async with connected(house) as phone:
        found = await asked(phone, "tts.providers")
        chosen = await asked(phone, "tts.setProvider", provider="test")
        other = await phone.call("tts.setProvider", {"provider": "elevenlabs"})

    assert (found["active"], found["providers"][0]["models"]) == ("test", ["tts-1"])
    assert found["providers"][0]["voices"] == ["alloy"]
    assert chosen == {"provider": "test"}
    assert "test" in other["error"]["message"]
