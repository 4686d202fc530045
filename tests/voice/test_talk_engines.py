"""What hears and speaks, in talks and at satellites: what `voice:` says, else what is set up for voice messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority
from hub.core.errors import TimedOut, Unavailable
from hub.models.transcription import SpeechPiece
from hub.voice.contract import SatelliteInfo, Sound
from hub.voice.engines import HEARING_S, VoiceEngines
from hub.voice.settings import VoiceSettings
from hub.voice.sound import as_wav
from hub.voice.talk_engines import TalkEngines
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import Listeners, VoiceHome, speech, voice_home

ANNA = Authority("person:anna", "anna")


def engines(home: VoiceHome, voice: Mapping[str, Any], section: Mapping[str, Any]) -> TalkEngines:
    return TalkEngines(
        VoiceEngines(home.models, home.clock, lambda: None, lambda: section),
        settings=lambda person: VoiceSettings.from_config(voice).of(SatelliteInfo("talk", "", "", person=person)),
        language_of=lambda person: "de",
        judge=lambda place, judged: Judge(place),
    )


class Judge:
    """What tells speech from other sounds, for a talk."""

    def __init__(self, place: str) -> None:
        self.place = place

    def feed(self, samples: bytes) -> None:
        pass

    def close(self) -> None:
        pass


async def spoken(samples: bytes) -> AsyncIterator[SpeechPiece]:
    for half in (samples[:6_400], samples[6_400:]):
        yield SpeechPiece(half)


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
        assert await made.listen(spoken(speech()), ANNA, print) == "Good morning"
        await made.sound_of("你好", ANNA)
        await made.sound_of("Hallo", Authority("owner"))

        assert home.ears.heard == [(len(as_wav(Sound(speech()))), "zh-CN")]
        assert [each[2:] for each in home.ears.spoken] == [("anna_voice", "zh-CN"), ("usual", "de")]


async def test_where_nothing_is_set_up_nothing_hears_or_speaks(tmp_path: Path, openai_server: OpenAIServer) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as home:
        made = engines(home, {}, {})

        assert (made.hears(), made.speaks()) == (False, False)
        with pytest.raises(Unavailable, match="nothing turns speech into text"):
            await made.listen(spoken(speech()), ANNA, print)
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


async def test_what_takes_sound_while_it_is_spoken_is_given_it_and_its_time_counts_from_the_end(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as home:
        home.ears = ears = Listeners()
        made = engines(home, {"transcription_model": "voice/ears"}, {})
        told: list[str] = []
        ends = asyncio.Event()

        async def slowly() -> AsyncIterator[SpeechPiece]:
            async for each in spoken(speech()):
                yield each
            await ends.wait()

        ears.hears = [None]
        hearing = asyncio.ensure_future(made.listen(slowly(), ANNA, told.append))
        await until(lambda: told == ["1 words", "2 words"])
        await home.clock.advance(2 * HEARING_S)
        assert not hearing.done()

        ends.set()
        await home.passing(hearing.done)
        with pytest.raises(TimedOut, match="voice/ears did not say what was said within 30 s"):
            await hearing
        assert ears.eager == [True]


@pytest.mark.parametrize(("vad", "is_judged"), [("auto", True), ("energy", False)])
async def test_what_tells_speech_from_other_sounds_listens_to_talks_unless_voice_says_otherwise(
    tmp_path: Path, openai_server: OpenAIServer, vad: str, is_judged: bool
) -> None:
    async with voice_home(tmp_path / "home", openai_server.base_url) as home:
        made = engines(home, {"vad": vad}, {})

        found = [made.judge(ANNA, print) for _ in range(2)]

    places = {each.place for each in found if isinstance(each, Judge)}
    assert len(places) == (2 if is_judged else 0)
