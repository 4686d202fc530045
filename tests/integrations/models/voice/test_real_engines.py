"""What Whisper hears of what Piper and espeak-ng say: a long run with HOMARUS_VOICE, a home with engines."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.models.contract import AUTO
from hub.models.speech import SpeechRequest
from integrations.models.voice.installed import VoiceFolder
from integrations.models.voice.provider import VoiceProvider, VoiceSettings
from integrations.models.voice.schema import ESPEAK
from tests.integrations.models.voice.household import CHINESE, ENGLISH, errors, signs, words
from tests.lengths import LONG

REAL = os.environ.get("HOMARUS_VOICE")
ENGLISH_LIMIT = 0.15


@pytest.mark.skipif(not (LONG and REAL), reason="a long run, with HOMARUS_VOICE=HOME, has them")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("tts", "language", "limit"), [(AUTO, "en", ENGLISH_LIMIT), (ESPEAK, "en", None), (AUTO, "zh", None)]
)
async def test_sentences_of_a_household_are_understood(tts: str, language: str, limit: float | None) -> None:
    settings = VoiceSettings(tts=tts, timeout_s=300.0, language=language)
    provider = VoiceProvider("voice", VoiceFolder(Path(REAL or "")), settings, Clock())
    sentences, split = (CHINESE, signs) if language == "zh" else (ENGLISH, words)
    wrong = count = 0
    spoken_s = heard_s = 0.0
    for each in sentences:
        begun = time.monotonic()
        sound = await provider.speak(SpeechRequest(AUTO, each, "", "wav", language))
        spoken = time.monotonic()
        heard = await provider.transcribe(AUTO, sound, "said.wav", language)
        spoken_s, heard_s = spoken_s + spoken - begun, heard_s + time.monotonic() - spoken
        wrong, count = wrong + errors(split(each), split(heard)), count + len(split(each))
    await provider.close()

    share = wrong / count
    each_s = f"{spoken_s / len(sentences):.2f} s to speak, {heard_s / len(sentences):.2f} s to hear a sentence"
    print(f"\n{tts} {language}: {share:.1%} of {count} words wrong; {each_s}")
    assert limit is None or share <= limit
