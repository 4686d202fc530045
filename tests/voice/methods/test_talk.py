"""`talk.*` as OpenClaw's clients call it: what is offered, and what is said."""

from __future__ import annotations

import base64
import io
import json
import wave
from pathlib import Path
from typing import Any

import pytest

from hub.voice.methods.talk import format_of
from tests.clients.npm import installed
from tests.clients.test_protocol_schema import faults
from tests.gateway.rig import Client, connected
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema of the protocol, as OpenClaw publishes it."""
    folder = installed("@openclaw/gateway-protocol", "2026.9.1")
    return json.loads((folder / "protocol.schema.json").read_text())  # type: ignore[no-any-return]


async def asked(client: Client, method: str, **params: Any) -> Any:
    answer = await client.call(method, params)
    assert answer["ok"], answer
    return answer["payload"]


async def test_a_home_that_hears_and_speaks_offers_a_talk_by_its_gateway(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.read"]) as phone:
        catalog = await asked(phone, "talk.catalog")
        talk = (await asked(phone, "talk.config"))["config"]["talk"]
        secret = await phone.call("talk.config", {"includeSecrets": True})

    (realtime,) = catalog["realtime"]["providers"]
    assert catalog["modes"] == ["realtime", "stt-tts", "transcription"]
    assert [catalog[each]["ready"] for each in ("speech", "transcription", "realtime")] == [True, True, True]
    assert realtime["id"] == catalog["realtime"]["activeProvider"] == talk["realtime"]["provider"]
    assert realtime["transports"] == ["gateway-relay"]
    assert realtime["inputAudioFormats"] == [{"encoding": "pcm16", "sampleRateHz": 24_000, "channels": 1}]
    assert talk["resolved"]["provider"] == talk["provider"]
    assert secret["error"]["details"]["missingScope"] == "operator.talk.secrets"


async def test_a_home_without_a_voice_offers_none_and_leaves_it_to_the_phone(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with HubFixture(tmp_path, openai_server.base_url) as hub, connected(hub) as phone:
        catalog = await asked(phone, "talk.catalog")
        config = (await asked(phone, "talk.config"))["config"]
        refused = await phone.call("talk.speak", {"text": "Hello."})

    assert (catalog["modes"], catalog["transports"]) == ([], [])
    assert not catalog["realtime"]["ready"]
    assert "talk" not in config
    assert refused["error"]["details"] == {"reason": "talk_unconfigured", "fallbackEligible": True}


async def test_it_says_a_text_in_the_voice_of_the_home(house: HubFixture) -> None:
    async with connected(house) as phone:
        said = await asked(phone, "talk.speak", text="The kettle is on.", outputFormat="pcm_24000", language="en")
        unknown = await phone.call("talk.speak", {"text": "Hello.", "modelId": "nobody/x"})

    data = base64.b64decode(said["audioBase64"])
    with wave.open(io.BytesIO(data)) as recording:
        seconds = recording.getnframes() / recording.getframerate()
    assert said["mimeType"] == "audio/wav"
    assert said["fileExtension"] == ".wav"
    assert 0.5 < seconds < 5
    assert unknown["error"]["details"]["reason"] == "synthesis_failed"


@pytest.mark.parametrize(
    ("asked_for", "form"),
    [("mp3_44100_128", "mp3"), ("opus", "opus"), ("WAV", "wav"), ("ulaw_8000", "mp3"), (None, "mp3")],
)
def test_the_words_of_vendors_for_formats_are_understood(asked_for: str | None, form: str) -> None:
    assert format_of(asked_for) == form


async def test_who_talks_is_told_to_all_and_a_vendors_own_talk_is_refused(house: HubFixture) -> None:
    async with connected(house, scopes=["operator.read"]) as watcher, connected(house) as phone:
        told = await asked(phone, "talk.mode", enabled=True, phase="listening")
        heard = await watcher.event("talk.mode")
        denied = await watcher.call("talk.mode", {"enabled": False})
        refused = await phone.call("talk.client.create", {"sessionKey": "main", "transport": "webrtc"})

    assert heard["payload"] == told
    assert (told["enabled"], told["phase"]) == (True, "listening")
    assert denied["error"]["details"]["missingScope"] == "operator.talk"
    assert "talk.session.create" in refused["error"]["message"]


async def test_the_answers_are_those_of_the_protocol(house: HubFixture, schema: dict[str, Any]) -> None:
    async with connected(house) as phone:
        found = {
            "TalkCatalogResult": await asked(phone, "talk.catalog"),
            "TalkConfigResult": await asked(phone, "talk.config"),
            "TalkSpeakResult": await asked(phone, "talk.speak", text="Hello."),
        }

    assert [fault for name, answer in found.items() for fault in faults(schema, name, answer)] == []
