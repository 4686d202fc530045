"""A Wyoming service as a provider of models: it hears or speaks, and does not chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from hub.core.errors import HubError, InvalidRequest, TimedOut, Unavailable
from hub.models.contract import AUTO, ModelEvent, ModelInfo, ModelRequest
from hub.models.provider_config import ProviderConfig
from hub.models.speech import SpeechModel, SpeechRequest
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import RATE
from integrations.devices.wyoming.sound import PIECE_BYTES, SoundCollector, as_recording, events_of, read_recording
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode, read_event

CONNECT_LIMIT_S = 5.0
ANSWER_LIMIT_S = 60.0
"""For each event: a service that hears answers when it has heard all."""
FORM = {"rate": RATE, "width": 2, "channels": 1}


class WyomingProvider:
    """Hears or speaks by the service at an address.

    Args:
        name: The name of the provider.
        config: Its `base_url` is the address, tcp://host:port.
    """

    def __init__(self, name: str, config: ProviderConfig) -> None:
        self.name = name
        self._url = config.base_url or ""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Refuse: it does not chat."""
        raise InvalidRequest(f"{self.name}/{request.model} hears or speaks; it does not chat. Name another model.")

    async def models(self) -> list[ModelInfo]:
        """Return what the service says that it has."""
        return [self.known(name) for name in (AUTO, *(each.id for each in await self.speech_models()))]

    async def speech_models(self) -> list[SpeechModel]:
        """See `CanListSpeech.speech_models`."""
        async with self._asked([WyomingEvent("describe")]) as events:
            info: Mapping[str, Any] = {}
            async for event in events:
                if event.type == "info":
                    info = event.data
                    break
        found: list[SpeechModel] = []
        for kind, within in (("asr", "models"), ("tts", "voices")):
            able = [
                each for program in info.get(kind) or () for each in program.get(within) or () if each.get("installed")
            ]
            found += [
                SpeechModel(
                    str(each.get("name")),
                    hears=kind == "asr",
                    speaks=kind == "tts",
                    languages=tuple(map(str, each.get("languages") or ())) if kind == "tts" else (),
                    is_usual=each is able[0],
                )
                for each in able
            ]
        return found

    def known(self, model_id: str) -> ModelInfo:
        """Return what is known of a model: it costs nothing."""
        return ModelInfo(model_id, self.name, input_usd=0.0, output_usd=0.0, tools=False)

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        """See `CanTranscribe.transcribe`."""
        sound = await read_recording(data)
        async with self._asked([_asked_to_hear(model, language), *events_of(sound)]) as events:
            return await self._text_of(events)

    async def listen(
        self,
        model: str,
        pieces: AsyncIterator[SpeechPiece],
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool = True,
    ) -> str:
        """See `CanListen.listen`: a service that streams tells what it understands while it is sent the sound."""
        async with self._connected() as (reader, writer):
            writing = asyncio.ensure_future(_send_speech(writer, _asked_to_hear(model, language), pieces))
            try:
                return await self._text_of(self._read(reader, None), tell)
            finally:
                writing.cancel()
                await asyncio.wait({writing})

    async def _text_of(self, events: AsyncIterator[WyomingEvent], tell: TellWords = lambda words: None) -> str:
        """Return what a service says that it heard, and tell the words of which it is sure before that."""
        words = ""
        async for event in events:
            match event.type:
                case "transcript-chunk":
                    words += str(event.data.get("text") or "")
                    tell(words.strip())
                case "transcript":
                    return str(event.data.get("text") or "").strip()
                case "transcript-stop":
                    return words.strip()
        raise Unavailable(f"{self.name} ended without saying what it heard")

    async def speak(self, request: SpeechRequest) -> bytes:
        """See `CanSpeak.speak`; the model is `auto` or a voice, and so may `voice` be."""
        named = next((each for each in (request.voice, request.model) if each not in ("", AUTO)), None)
        voice = {"name": named} if named else {"language": request.language} if request.language else {}
        said = {"text": request.text, **({"voice": voice} if voice else {})}
        collected = SoundCollector()
        async with self._asked([WyomingEvent("synthesize", said)]) as events:
            async for event in events:
                if event.type in ("audio-start", "audio-chunk"):
                    collected.add(event)
                elif event.type == "audio-stop" and (sound := collected.take()).samples:
                    return await as_recording(sound, request.form)
        raise Unavailable(f"{self.name} ended before it had spoken")

    async def close(self) -> None:
        """Nothing is kept open."""

    @asynccontextmanager
    async def _asked(self, events: Iterable[WyomingEvent]) -> AsyncIterator[AsyncIterator[WyomingEvent]]:
        """Send events, and give what comes back; see `_connected`."""
        async with self._connected() as (reader, writer):
            async with asyncio.timeout(ANSWER_LIMIT_S):
                await _write(writer, *events)
            yield self._read(reader, ANSWER_LIMIT_S)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Connect to the service.

        Raises:
            Unavailable: It cannot be reached, breaks off, or says that it failed.
            TimedOut: It does not answer.
        """
        place = urlsplit(self._url)
        if place.scheme != "tcp" or not place.hostname or not place.port:
            raise InvalidRequest(
                f"models.providers.{self.name}: base_url: expected tcp://host:port, got {self._url!r:.200}"
            )
        writer = None
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=EVENT_LIMIT_BYTES)
            yield reader, writer
        except HubError:
            raise
        except TimeoutError as error:
            raise TimedOut(f"{self.name} ({self._url}) does not answer") from error
        except (OSError, EOFError) as error:
            raise Unavailable(f"{self.name} ({self._url}) cannot be reached: {error}") from error
        except ValueError as error:
            raise Unavailable(f"{self.name} ({self._url}) does not speak the Wyoming protocol: {error}") from error
        finally:
            if writer is not None:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader, limit_s: float | None) -> AsyncIterator[WyomingEvent]:
        while (event := await read_event(reader, limit_s)) is not None:
            if event.type == "error":
                raise Unavailable(f"{self.name} failed: {str(event.data.get('text'))[:300]}")
            yield event


def _asked_to_hear(model: str, language: str | None) -> WyomingEvent:
    about = {"name": None if model == AUTO else model, "language": language}
    return WyomingEvent("transcribe", {key: value for key, value in about.items() if value})


async def _send_speech(writer: asyncio.StreamWriter, asked: WyomingEvent, pieces: AsyncIterator[SpeechPiece]) -> None:
    """Send what is spoken, as it comes; a service that has gone is noticed where its answer is read."""
    with suppress(OSError):
        await _write(writer, asked, WyomingEvent("audio-start", FORM))
        async for each in pieces:
            for at in range(0, len(each.samples), PIECE_BYTES):
                await _write(writer, WyomingEvent("audio-chunk", FORM, each.samples[at : at + PIECE_BYTES]))
        await _write(writer, WyomingEvent("audio-stop"))


async def _write(writer: asyncio.StreamWriter, *events: WyomingEvent) -> None:
    for each in events:
        writer.write(encode(each))
        await writer.drain()
