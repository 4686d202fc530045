"""Engines hear and speak in processes of their own, whose illnesses are errors of one request."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.core.errors import HubError, InvalidRequest, NotFound, TimedOut, Unavailable
from hub.models.contract import AUTO, ModelRequest
from hub.models.speech import SpeechRequest, audio_kind
from integrations.channels.voice_call.mulaw import from_wav, to_wav
from integrations.models.voice.catalogue import ESPEAK, offer
from integrations.models.voice.installed import Model, VoiceFolder
from integrations.models.voice.provider import (
    VoiceProvider,
    VoiceSettings,
    as_written_here,
    choose_voice,
    spoken_language,
)
from tests.integrations.models.voice.conftest import put
from tests.servers.coded_sound import as_sound, text_of
from tests.servers.scripted_engine import COMMAND, TOO_LARGE
from tests.until import until

WHO = SpeechRequest(AUTO, "who", "", "opus", "en")


def recording(text: str) -> bytes:
    return to_wav(as_sound(text))


async def said(provider: VoiceProvider, request: SpeechRequest = WHO) -> str:
    return text_of(from_wav(await provider.speak(request)))


async def process_of(provider: VoiceProvider) -> int:
    return int((await said(provider)).split(" ")[3])


async def test_the_largest_model_of_the_language_hears_unless_another_is_named(
    provider: VoiceProvider, folder: VoiceFolder
) -> None:
    put(folder, "whisper-small.en", 3)

    assert await provider.transcribe(AUTO, recording("who"), "a.wav", "en") == "who whisper-small.en en"
    assert await provider.transcribe(AUTO, recording("who"), "a.wav", "zh-CN") == "who whisper-base zh"
    assert await provider.transcribe(AUTO, recording("who"), "a.wav") == "who whisper-base None"
    assert await provider.transcribe("whisper-tiny", recording("who"), "a.wav") == "who whisper-tiny None"

    with pytest.raises(NotFound, match="whisper-small is not installed: `homarus voice install whisper-small"):
        await provider.transcribe("whisper-small", recording("who"), "a.wav")


@pytest.mark.parametrize(
    ("wanted", "language", "chosen"),
    [
        (AUTO, "de", "de_DE-thorsten-medium"),
        (AUTO, "zh", None),
        (ESPEAK, "en", None),
        ("en_US-joe-medium", "en", "en_US-joe-medium"),
        ("en_US-joe-medium", "de", "de_DE-thorsten-medium"),
        ("en_US-joe-medium", "zh", None),
        ("en-gb", "en", None),
    ],
)
def test_a_voice_speaks_its_own_language_and_espeak_all_others(wanted: str, language: str, chosen: str | None) -> None:
    voices = [Model(each, "piper", (each[:2],)) for each in ("en_US-joe-medium", "de_DE-thorsten-medium")]  # type: ignore[arg-type]

    found = choose_voice(wanted, language, voices)

    assert (found.name if found else None) == chosen


@pytest.mark.parametrize(
    ("text", "language"), [("Guten Tag", "de"), ("打开 kitchen 的灯", "zh"), ("Say 你好 to her", "de"), ("12:30", "de")]
)
def test_what_is_written_in_chinese_is_read_out_in_chinese(text: str, language: str) -> None:
    assert spoken_language(text, "de-AT") == language


@pytest.mark.parametrize(
    ("heard", "languages", "text"),
    [
        ("zh", ("zh", "en"), "打开厨房的灯"),
        ("zh", (None, "zh-CN"), "打开厨房的灯"),
        ("zh", ("zh-TW", "zh-CN"), "打開廚房的燈"),
        ("zh", ("de", "zh_Hant"), "打開廚房的燈"),
        ("ja", (None, "en"), "打開廚房的燈"),
    ],
)
def test_chinese_is_written_as_at_home(heard: str, languages: tuple[str | None, ...], text: str) -> None:
    assert as_written_here("打開廚房的燈", heard, *languages) == text


async def test_a_voice_that_is_not_there_is_named_with_those_that_are(provider: VoiceProvider) -> None:
    with pytest.raises(NotFound, match=r"install fr_FR-siwis-medium`\); there are espeak-ng, .*en_US-joe-medium"):
        await provider.speak(replace(WHO, voice="fr_FR-siwis-medium"))
    assert (await said(provider, replace(WHO, model=ESPEAK, voice="en-gb"))).startswith(" en en-gb")


async def test_a_process_does_all_requests_and_sees_nothing_of_the_hubs_environment(
    provider: VoiceProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMARUS_SECRET", "7731")

    pids = {await process_of(provider) for _ in range(3)}
    told = await said(provider)

    assert len(pids) == 1
    assert "HOMARUS_SECRET" not in told


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("crash", Unavailable, "ended with exit code 3: MemoryError: no room; the next request starts it again"),
        ("killed", Unavailable, "was ended by SIGKILL"),
        ("hang", TimedOut, "did not answer within 1 s"),
        ("babble", Unavailable, "writes what is no answer"),
        ("refuse", Unavailable, "could not do it: ValueError: this voice has no such sound"),
    ],
)
async def test_an_ill_engine_is_an_error_of_its_request_and_the_next_is_answered(
    folder: VoiceFolder, clock: ManualClock, text: str, error: type[HubError], words: str
) -> None:
    settings = VoiceSettings(command=COMMAND, timeout_s=1.0 if text == "hang" else 30.0)
    provider = VoiceProvider("voice", folder, settings, clock)

    with pytest.raises(error) as failed:
        await provider.speak(replace(WHO, text=text))
    after = await said(provider, replace(WHO, text="print and speak"))
    await provider.close()

    assert words in failed.value.message
    assert after == "print and speak"


async def test_a_cancelled_request_leaves_its_process_to_others_unless_it_hangs(
    provider: VoiceProvider, clock: ManualClock
) -> None:
    before = await process_of(provider)
    (engine,) = provider._engines.values()
    unwanted = asyncio.create_task(provider.speak(replace(WHO, text="think")))
    await until(lambda: engine.waiting == 1)
    unwanted.cancel()
    assert await process_of(provider) == before

    hanging = asyncio.create_task(provider.speak(replace(WHO, text="hang")))
    await until(lambda: engine.waiting == 1)
    waiting = asyncio.create_task(said(provider))
    await until(lambda: engine.waiting == 2)
    hanging.cancel()
    await until(lambda: clock.sleepers)
    await clock.advance(3.1)

    after = int((await waiting).split(" ")[3])

    assert after != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


async def test_an_engine_is_started_before_its_first_request(provider: VoiceProvider, clock: ManualClock) -> None:
    await provider.prepare(AUTO, "en")
    await provider.prepare(AUTO, "en", "")
    started = {each.name: each.process_id for each in provider._engines.values()}

    assert set(started) == {"whisper-base", "en_US-joe-medium"}
    assert await process_of(provider) == started["en_US-joe-medium"]
    await clock.advance(601)
    await until(lambda: not any(each.is_running for each in provider._engines.values()))


async def test_a_prepared_engine_has_loaded_its_model(provider: VoiceProvider, folder: VoiceFolder) -> None:
    voice = next(each for each in folder.models() if each.name == "en_US-joe-medium")
    (Path(voice.path) / TOO_LARGE).touch()

    await provider.prepare(AUTO, "en", "")

    (engine,) = provider._engines.values()
    assert not engine.is_running
    with pytest.raises(Unavailable, match="MemoryError"):
        await said(provider)


async def test_an_idle_engine_ends_and_starts_again(provider: VoiceProvider, clock: ManualClock) -> None:
    before = await process_of(provider)
    (engine,) = provider._engines.values()
    await clock.advance(599)
    again = await process_of(provider)
    await clock.advance(599)
    assert engine.is_running

    await clock.advance(1)
    await until(lambda: not engine.is_running)
    after = await process_of(provider)

    assert before == again != after


async def test_without_engines_or_models_it_is_said_what_to_install(folder: VoiceFolder, clock: ManualClock) -> None:
    provider = VoiceProvider("voice", folder, VoiceSettings(), clock)

    with pytest.raises(Unavailable, match="homarus voice install engines"):
        await provider.transcribe(AUTO, b"", "a.wav")
    with pytest.raises(InvalidRequest, match="does not chat"):
        async for _ in provider.stream(ModelRequest(AUTO, "", ())):
            pass
    for each in folder.models():
        folder.remove(each.name)
    with pytest.raises(NotFound, match="homarus voice install whisper-base"):
        await provider.transcribe(AUTO, b"", "a.wav")


@pytest.mark.skipif(shutil.which(ESPEAK) is None, reason="espeak-ng is not installed")
async def test_espeak_speaks_without_anything_installed(folder: VoiceFolder, clock: ManualClock) -> None:
    provider = VoiceProvider("voice", folder, VoiceSettings(tts=ESPEAK), clock)

    sounds = [await provider.speak(replace(WHO, text=each)) for each in ("Good morning.", "早上好。")]
    with pytest.raises(Unavailable, match="does not speak with the voice nobody"):
        await provider.speak(replace(WHO, voice="nobody"))
    await provider.close()

    for each in sounds:
        kind = audio_kind(each)
        assert kind is not None
        assert kind.suffix == ".wav"
        assert len(from_wav(each)) > 2_000


def test_any_voice_of_piper_is_known_by_its_name() -> None:
    found = offer("sv_SE-nst-medium")

    assert found is not None
    assert (found.path, found.languages) == ("sv/sv_SE/nst/medium", ("sv",))
    assert offer("../../etc") is None
