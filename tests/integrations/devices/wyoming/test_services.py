"""Services that hear and speak, in both directions; the other side is the library of the Wyoming protocol."""

from __future__ import annotations

import asyncio
import io
import shutil
import struct
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.server import AsyncEventHandler, AsyncTcpServer
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from hub.core.errors import HubError, InvalidRequest, TimedOut, Unavailable
from hub.models.provider_config import ProviderConfig
from hub.models.speech import SpeechRequest
from hub.models.transcription import SpeechPiece
from hub.voice.contract import Sound
from hub.voice.sound import as_wav, read_wav
from integrations.devices.wyoming.provider import WyomingProvider
from tests.integrations.devices.wyoming.test_server import Assist
from tests.until import until

ABOUT: dict[str, Any] = {"attribution": Attribution("x", "y"), "installed": True, "description": None, "version": None}
RATE = 22_050


def recording(samples: bytes = b"\1\0" * 800, rate: int = 16_000) -> bytes:
    return as_wav(Sound(samples, rate))


class Service(AsyncEventHandler):
    """Hears how much it was sent, and speaks as many samples as a text has letters; words tell it to be ill."""

    sound = b""
    asked: Transcribe

    async def handle_event(self, event: Event) -> bool:
        if Describe.is_type(event.type):
            models = [AsrModel(name="tiny", languages=["en"], **ABOUT)]
            gone = TtsVoice(name="gone", languages=["en"], **{**ABOUT, "installed": False})
            voices = [TtsVoice(name="joe", languages=["en"], **ABOUT), gone]
            program = {"name": "double", **ABOUT}
            info = Info(asr=[AsrProgram(models=models, **program)], tts=[TtsProgram(voices=voices, **program)])
            await self.write_event(info.event())
        elif Transcribe.is_type(event.type):
            self.asked = Transcribe.from_event(event)
        elif AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            assert (chunk.rate, chunk.width, chunk.channels) == (16_000, 2, 1)
            self.sound += chunk.audio
        elif AudioStop.is_type(event.type):
            text = f" {len(self.sound)} bytes by {self.asked.name} in {self.asked.language} "
            await self.write_event(Transcript(text).event())
        elif Synthesize.is_type(event.type):
            return await self._speak(Synthesize.from_event(event))
        return True

    async def _speak(self, asked: Synthesize) -> bool:
        match asked.text:
            case "refuse":
                await self.write_event(Error("there is no such voice").event())
                return True
            case "nine channels":
                await self.write_event(AudioChunk(RATE, 2, 9, b"\0" * 36).event())
                return True
            case "leave":
                await self.write_event(AudioStart(RATE, 2, 1).event())
                return False
            case "babble":
                self.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return False
        channels = 2 if asked.text == "stereo" else 1
        name = asked.voice.name or asked.voice.language if asked.voice else "anybody"
        await self.write_event(AudioStart(RATE, 2, channels).event())
        for letter in f"{name}: {asked.text}".encode():
            await self.write_event(AudioChunk(RATE, 2, channels, channels * bytes([letter, 0])).event())
        await self.write_event(AudioStop().event())
        return True


class Streaming(Service):
    """Tells a word for each piece of sound; what it is asked for by name tells how it ends, or that it is ill."""

    pieces = 0

    async def handle_event(self, event: Event) -> bool:
        if AudioChunk.is_type(event.type):
            if not self.pieces:
                await self.write_event(TranscriptStart().event())
            self.pieces += 1
            await self.write_event(TranscriptChunk(f" word{self.pieces}").event())
            return self.asked.name != "leaves"
        if AudioStop.is_type(event.type):
            if self.asked.name != "chunks alone":
                await self.write_event(Transcript(f"All {self.pieces} words").event())
            await self.write_event(TranscriptStop().event())
            return True
        return await super().handle_event(event)


@asynccontextmanager
async def served(service: type[Service]) -> AsyncIterator[WyomingProvider]:
    server = AsyncTcpServer("127.0.0.1", 0)
    await server.start(service)
    assert isinstance(server._server, asyncio.Server)
    port = server._server.sockets[0].getsockname()[1]
    yield WyomingProvider("box", ProviderConfig("box", "wyoming", f"tcp://127.0.0.1:{port}"))
    await server.stop()


@pytest.fixture
async def provider() -> AsyncIterator[WyomingProvider]:
    async with served(Service) as found:
        yield found


@pytest.fixture
async def streaming() -> AsyncIterator[WyomingProvider]:
    async with served(Streaming) as found:
        yield found


def spoken(data: bytes) -> str:
    with wave.open(io.BytesIO(data)) as file:
        assert file.getframerate() == RATE
        return str(file.readframes(file.getnframes())[::2], "ascii")


async def test_a_service_says_what_it_hears(provider: WyomingProvider) -> None:
    text = await provider.transcribe("auto", recording(b"\1\0" * 20_000), "a.wav", "de")

    assert text == "40000 bytes by None in de"


async def test_a_model_of_a_service_is_asked_for_by_its_name(provider: WyomingProvider) -> None:
    assert await provider.transcribe("tiny", recording(), "a.wav") == "1600 bytes by tiny in None"


class Speaker:
    """Somebody who speaks, piece by piece.

    Attributes:
        told: The words so far.
    """

    def __init__(self, provider: WyomingProvider, model: str = "auto") -> None:
        self.told: list[str] = []
        self._pieces: asyncio.Queue[SpeechPiece | None] = asyncio.Queue()
        self.text = asyncio.ensure_future(provider.listen(model, self._each(), "de", self.told.append))

    async def _each(self) -> AsyncIterator[SpeechPiece]:
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def say(self, samples: bytes | None) -> None:
        self._pieces.put_nowait(SpeechPiece(samples) if samples is not None else None)


@pytest.mark.parametrize(("model", "text"), [("auto", "All 2 words"), ("chunks alone", "word1 word2")])
async def test_a_service_that_streams_is_sent_sound_while_it_is_spoken_and_tells_the_words_so_far(
    streaming: WyomingProvider, model: str, text: str
) -> None:
    speaker = Speaker(streaming, model)
    speaker.say(b"\1\0" * 800)
    await until(lambda: speaker.told == ["word1"])
    speaker.say(b"\1\0" * 800)
    await until(lambda: speaker.told == ["word1", "word1 word2"])
    assert not speaker.text.done()
    speaker.say(None)

    assert await speaker.text == text


async def test_a_service_that_does_not_stream_is_sent_all_that_is_spoken(provider: WyomingProvider) -> None:
    speaker = Speaker(provider, "tiny")
    for samples in (b"\1\0" * 40_000, b"\2\0" * 100, None):
        speaker.say(samples)

    assert await speaker.text == "80200 bytes by tiny in de"
    assert speaker.told == []


async def test_a_service_that_leaves_while_somebody_speaks_is_named(streaming: WyomingProvider) -> None:
    speaker = Speaker(streaming, "leaves")
    speaker.say(b"\1\0" * 800)

    with pytest.raises(Unavailable, match="box"):
        await speaker.text


@pytest.mark.parametrize(
    ("model", "voice", "language", "by"),
    [
        ("auto", "", None, "anybody"),
        ("auto", "joe", "en", "joe"),
        ("joe", "auto", "en", "joe"),
        ("auto", "", "de", "de"),
    ],
)
async def test_a_service_speaks(
    provider: WyomingProvider, model: str, voice: str, language: str | None, by: str
) -> None:
    found = await provider.speak(SpeechRequest(model, "Good evening", voice, "wav", language))

    assert spoken(found) == f"{by}: Good evening"


async def test_a_service_that_speaks_in_stereo_is_heard(provider: WyomingProvider) -> None:
    assert spoken(await provider.speak(SpeechRequest("auto", "stereo", "", "wav"))) == "anybody: stereo"


async def test_the_models_of_a_service_are_those_that_it_has(provider: WyomingProvider) -> None:
    assert [each.id for each in await provider.models()] == ["auto", "tiny", "joe"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("refuse", "box failed: there is no such voice"),
        (
            "nine channels",
            "does not speak the Wyoming protocol: a sound of rate=22050, width=2 and channels=9 cannot be read",
        ),
        ("leave", "ended before it had spoken"),
        ("babble", "does not speak the Wyoming protocol"),
    ],
)
async def test_a_service_that_fails_is_named_with_its_reason(provider: WyomingProvider, text: str, words: str) -> None:
    with pytest.raises(Unavailable, match=words):
        await provider.speak(SpeechRequest("auto", text, "", "wav"))

    assert spoken(await provider.speak(SpeechRequest("auto", "again", "", "wav"))) == "anybody: again"


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("http://127.0.0.1:10300", InvalidRequest, "base_url: expected tcp://host:port"),
        ("tcp://127.0.0.1:1", Unavailable, "cannot be reached"),
    ],
)
async def test_an_address_that_is_none_is_named(url: str, error: type[HubError], words: str) -> None:
    with pytest.raises(error, match=words):
        await WyomingProvider("box", ProviderConfig("box", "wyoming", url)).models()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
async def test_recordings_of_other_kinds_are_converted(provider: WyomingProvider) -> None:
    voice_message = await provider.speak(SpeechRequest("auto", "a" * RATE, "", "opus"))

    assert voice_message.startswith(b"OggS")
    seconds = int((await provider.transcribe("auto", voice_message, "a.ogg")).split()[0]) / 32_000
    assert seconds == pytest.approx(1, abs=0.01)


async def test_what_is_no_recording_is_refused(provider: WyomingProvider) -> None:
    with pytest.raises(HubError, match=r"no recording|take the program ffmpeg"):
        await provider.transcribe("auto", b"not a recording", "a.ogg")


class Models:
    """What the hub has to hear and speak with; the name of a language tells it to fail or to be slow."""

    speech_ref: str | None = "voice/auto"

    async def resolve(self, ref: str) -> Any:
        return SimpleNamespace(provider=self, info=SimpleNamespace(id=ref.partition("/")[2]))

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        if language == "fail":
            raise TimedOut("whisper did not answer within 60 s")
        sound = read_wav(data)
        assert sound is not None
        return f"{len(sound.samples)} at {sound.rate} in {language} by {model}"

    async def speak(self, request: SpeechRequest) -> bytes:
        if request.text == "fail":
            raise Unavailable("there is no voice for tlh")
        return recording(f"{request.text}/{request.voice}/{request.language}".encode("utf-16-le"), RATE)


class Talking(Assist):
    """A hub with something that hears and speaks."""

    models = Models()


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Talking]:
    hub = Talking(tmp_path)
    server = await hub.server.start()
    hub.port = server.sockets[0].getsockname()[1]
    yield hub
    server.close()
    await hub.tasks.cancel_all()


@asynccontextmanager
async def client_of(hub: Assist) -> AsyncIterator[Callable[[Event], Any]]:
    async with AsyncTcpClient("127.0.0.1", hub.port) as client:

        async def asked(*events: Event) -> Event:
            for event in events:
                await client.write_event(event)
            async with asyncio.timeout(10):
                found = await client.read_event()
            assert isinstance(found, Event)
            return found

        yield asked


async def answered(hub: Assist, *events: Event) -> list[Event]:
    """Send events, and return all that comes until both sides have ended."""
    found = []
    async with AsyncTcpClient("127.0.0.1", hub.port) as client:
        for event in events:
            await client.write_event(event)
        assert client._writer is not None
        client._writer.write_eof()
        while (event := await client.read_event()) is not None:
            found.append(event)
    return found


async def sound_of(client: AsyncTcpClient) -> str:
    """Return the words of the next sound, up to its end."""
    samples = b""
    async with asyncio.timeout(10):
        while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
            samples += event.payload or b""
    return samples.decode("utf-16-le")


def noise(seconds: float) -> bytes:
    """Return what is loud enough to be speech."""
    return b"".join(struct.pack("<h", 8_000 if at // 40 % 2 else -8_000) for at in range(int(16_000 * seconds)))


def heard(*pieces: bytes, language: str = "en") -> list[Event]:
    chunks = [AudioChunk(16_000, 2, 1, piece).event() for piece in pieces]
    start = AudioStart(16_000, 2, 1).event()
    return [Transcribe(language=language).event(), start, *chunks, AudioStop().event()]


async def test_the_hub_hears_for_others(hub: Assist) -> None:
    first = await answered(hub, *heard(b"\0" * 2_000, b"\0" * 401, language="de"))
    second = await answered(hub, *heard(b"\0" * 10))

    assert [each.type for each in first] == ["transcript-start", "transcript-chunk", "transcript", "transcript-stop"]
    assert Transcript.from_event(first[2]).text == "2400 at 16000 in de by auto"
    assert Transcript.from_event(second[2]).text == "10 at 16000 in en by auto"


async def test_what_was_said_before_a_pause_is_told_before_the_rest(hub: Assist) -> None:
    speech, pause = noise(1.0), b"\0\0" * 24_000

    async with AsyncTcpClient("127.0.0.1", hub.port) as client:
        for event in heard(pause, speech, pause)[:-1]:
            await client.write_event(event)
        before = [await client.read_event() for _ in range(2)]
        for event in heard(speech)[2:]:
            await client.write_event(event)
        after = [await client.read_event() for _ in range(3)]

    events = [each for each in (*before, *after) if each is not None]
    assert [each.type for each in events] == [
        "transcript-start",
        *2 * ["transcript-chunk"],
        "transcript",
        "transcript-stop",
    ]
    chunks = [TranscriptChunk.from_event(each).text for each in events[1:3]]
    assert Transcript.from_event(events[3]).text == "".join(chunks)
    assert [each[:1] == " " for each in chunks] == [False, True]


async def test_a_text_is_spoken_as_it_comes(hub: Assist) -> None:
    async with AsyncTcpClient("127.0.0.1", hub.port) as client:
        await client.write_event(SynthesizeStart(SynthesizeVoice(language="de")).event())
        for each in ("Good eve", "ning, everybody. How ", "are you?"):
            await client.write_event(SynthesizeChunk(each).event())
        first = await sound_of(client)
        await client.write_event(Synthesize("Good evening, everybody. How are you?").event())
        await client.write_event(SynthesizeStop().event())
        second = await sound_of(client)
        end = await client.read_event()

    assert (first, second) == ("Good evening, everybody.//de", "How are you?//de")
    assert end is not None
    assert SynthesizeStopped.is_type(end.type)


async def test_a_text_that_cannot_be_spoken_is_told_once(hub: Assist) -> None:
    asked = [SynthesizeStart().event(), SynthesizeChunk("fail").event(), SynthesizeStop().event()]

    error, end = await answered(hub, *asked)

    assert "there is no voice" in Error.from_event(error).text
    assert SynthesizeStopped.is_type(end.type)


async def test_the_hub_speaks_for_others(hub: Assist) -> None:
    events = await answered(hub, Synthesize("Good evening", SynthesizeVoice(language="de")).event())

    assert AudioStart.from_event(events[0]).rate == RATE
    assert b"".join(each.payload or b"" for each in events).decode("utf-16-le") == "Good evening//de"
    assert AudioStop.is_type(events[-1].type)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (heard(b"\0" * 10, language="fail"), "whisper did not answer"),
        ([Synthesize("fail").event()], "there is no voice"),
        ([Synthesize(" ").event()], "expected a text of at most 4000 characters"),
    ],
)
async def test_what_cannot_be_heard_or_said_is_told(hub: Assist, events: list[Event], words: str) -> None:
    async with client_of(hub) as asked:
        assert words in Error.from_event(await asked(*events)).text


@pytest.mark.parametrize("has_speech", [True, False])
async def test_the_hub_offers_to_hear_and_speak_where_it_can(hub: Assist, has_speech: bool) -> None:
    hub.models.speech_ref = "voice/auto" if has_speech else None

    async with client_of(hub) as asked:
        info = Info.from_event(await asked(Describe().event()))

    assert (bool(info.asr), bool(info.tts), bool(info.handle)) == (has_speech, has_speech, True)
    if has_speech:
        assert {"de", "zh"} < set(info.asr[0].models[0].languages) == set(info.tts[0].voices[0].languages)
