"""What hears and speaks, in talks and at satellites: what `voice:` says, else what is set up for voice messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority
from hub.core.errors import Unavailable
from hub.voice.contract import SatelliteInfo
from hub.voice.engines import VoiceEngines
from hub.voice.settings import VoiceSettings
from hub.voice.talk_engines import TalkEngines
from tests.servers.openai_server import OpenAIServer
from tests.voice.kit import VoiceHome, speech, voice_home

ANNA = Authority("person:anna", "anna")


def engines(home: VoiceHome, voice: Mapping[str, Any], section: Mapping[str, Any]) -> TalkEngines:
    return TalkEngines(
        VoiceEngines(home.models, home.clock, lambda: None, lambda: section),
        settings=lambda person: VoiceSettings.from_config(voice).of(SatelliteInfo("talk", "", "", person=person)),
        language_of=lambda person: "de",
    )


async def test_what_is_said_of_voice_comes_before_what_speaks_in_messages(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as home:
        voice = {
            "transcription_model": "voice/ears",
            "people": [{"id": "anna", "voice": "anna_voice", "language": "zh-CN"}],
        }
        made = engines(home, voice, {"model": "voice/mouth", "voice": "usual"})
        home.ears.hears.append(" Good morning ")

        assert (made.hears(), made.speaks()) == (True, True)
        assert await made.text_of(speech(), ANNA) == "Good morning"
        await made.sound_of("你好", ANNA)
        await made.sound_of("Hallo", Authority("owner"))

        assert [language for _, language in home.ears.heard] == ["zh-CN"]
        assert [each[2:] for each in home.ears.spoken] == [("anna_voice", "zh-CN"), ("usual", "de")]


async def test_where_nothing_is_set_up_nothing_hears_or_speaks(tmp_path: Path, openai_server: OpenAIServer) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as home:
        made = engines(home, {}, {})

        assert (made.hears(), made.speaks()) == (False, False)
        with pytest.raises(Unavailable, match="nothing turns speech into text"):
            await made.text_of(speech(), ANNA)
        with pytest.raises(Unavailable, match="nothing speaks"):
            await made.sound_of("Hello", ANNA)


async def test_what_speaks_in_messages_speaks_at_satellites_unless_voice_names_another(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    usual = {"model": "voice/mouth", "voice": "alloy"}
    async with voice_home(tmp_path, openai_server.base_url, speech=usual) as home:
        home.kiosk()
        for named in ({}, {"voice": "nova"}, {"speech_model": "voice/auto"}):
            home.voice.configure({"transcription_model": "voice/auto", **named})
            saying = asyncio.ensure_future(home.satellites.say("kitchen", "Hi"))
            await home.passing(saying.done)
            await saying

        assert [(model, voice) for model, _, voice, _ in home.ears.spoken] == [
            *(("mouth", "alloy"), ("mouth", "nova"), ("auto", ""))
        ]
