"""An ESPHome device that speaks the native API over real sockets and behaves as linux-voice-assistant and Voice PE do.

Its messages are those of aioesphomeapi's protobufs; its frames are plain or encrypted (Noise_NNpsk0_25519_ChaChaPoly).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import aiohttp
from aioesphomeapi.core import MESSAGE_TYPE_TO_PROTO
from aioesphomeapi.model import VoiceAssistantEventType as Happened, VoiceAssistantFeature
from noise.connection import NoiseConnection  # type: ignore[import-untyped]

from hub.core.clock import Clock

api: Any = import_module("aioesphomeapi.api_pb2")
"""The messages, whose classes the module makes as it is imported."""
NUMBERS: dict[Any, int] = {kind: number for number, kind in MESSAGE_TYPE_TO_PROTO.items()}
VOICE_PE = (
    VoiceAssistantFeature.VOICE_ASSISTANT
    | VoiceAssistantFeature.API_AUDIO
    | VoiceAssistantFeature.ANNOUNCE
    | VoiceAssistantFeature.START_CONVERSATION
    | VoiceAssistantFeature.TIMERS
)
WITH_SPEAKER = VoiceAssistantFeature.VOICE_ASSISTANT | VoiceAssistantFeature.API_AUDIO | VoiceAssistantFeature.SPEAKER
CHUNK_BYTES = 1_024
PLAYER_KEY = 1


class EsphomeDouble:
    """A device. It listens once it is entered as a context, and can be switched off and on.

    Args:
        key: Its encryption key as in its configuration; None speaks plain.
        entities: What it has: a `ListEntities…Response` each, with the state that it says first, or None.
        wake_words: By their ids.

    Attributes:
        configured: The wake words that it was told, each time.
        commands: What it was told, of messages that it does not answer itself.
        events: The events of voice, by name, with what they say.
        played: The sounds that it fetched.
        times: When it had each of them, on the monotonic clock.
        spoken: The samples that were sent to its speaker.
        timers: The timers it was told of.
        clock: Plays a sound for as long as it lasts on it; at once without one.
        plays: Cleared, it does not come to the end of a sound.
        finishes: Whether it tells the end of a sound.
        fetches: Whether it fetches what it is to play.
        is_muted: Whether its microphone is off.
        is_listening: Whether it sends what it hears.
    """

    def __init__(
        self,
        name: str = "kitchen-voice",
        mac: str = "02:00:00:AA:BB:CC",
        *,
        key: str | None = None,
        features: int = VOICE_PE,
        entities: Sequence[tuple[Any, Any]] = (),
        wake_words: dict[str, str] | None = None,
        **info: Any,
    ) -> None:
        self.name, self.mac, self.key, self.features, self.info = name, mac, key, features, info
        self.entities = list(entities)
        self.wake_words = {"okay_nabu": "Okay Nabu", "hey_jarvis": "Hey Jarvis"} if wake_words is None else wake_words
        self.active = list(self.wake_words)[:1]
        self.configured: list[list[str]] = []
        self.commands: list[Any] = []
        self.events: list[tuple[str, dict[str, str]]] = []
        self.played: list[tuple[str, bytes]] = []
        self.times: list[float] = []
        self.announcements: list[Any] = []
        self.spoken = b""
        self.timers: list[Any] = []
        self.clock: Clock | None = None
        self.plays = asyncio.Event()
        self.plays.set()
        self.finishes = True
        self.fetches = True
        self.is_muted = self.is_listening = False
        self.subscribed = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._noise: NoiseConnection | None = None
        self._playing: asyncio.Task[None] | None = None
        self._was_played = self._continues = False

    async def __aenter__(self) -> EsphomeDouble:
        await self.switch_on()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.switch_off()

    async def switch_on(self) -> None:
        """Listen, at the same port as before."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def switch_off(self) -> None:
        """Be gone, in the middle of whatever is going on."""
        if self._server is not None:
            self._server.close()
        if self._playing is not None:
            self._playing.cancel()
        if self._writer is not None:
            self._writer.transport.abort()
        await asyncio.sleep(0)

    def send(self, *messages: Any) -> None:
        """Send messages to the hub."""
        assert self._writer is not None
        for each in messages:
            self._writer.write(self._framed(NUMBERS[type(each)], each.SerializeToString()))

    def wake(self, word: str = "Okay Nabu", flags: int = 0) -> None:
        """Hear a wake word, or with an empty one a button."""
        self._stop_playing()
        self.send(api.VoiceAssistantRequest(start=True, wake_word_phrase=word, flags=flags))
        self.is_listening = True

    async def hear(self, samples: bytes) -> None:
        """Send what is said, for as long as it listens."""
        for at in range(0, len(samples), CHUNK_BYTES):
            if not self.is_listening:
                return
            self.send(api.VoiceAssistantAudio(data=samples[at : at + CHUNK_BYTES]))
            await asyncio.sleep(0)

    def end(self) -> None:
        """Say that what is said has ended."""
        self.is_listening = False
        self.send(api.VoiceAssistantAudio(end=True))

    def abort(self) -> None:
        """Let the button go, or say that it is enough."""
        self.is_listening = False
        self._stop_playing()
        self.send(api.VoiceAssistantRequest(start=False))

    def touch(self) -> None:
        """Somebody says the stop word: what it plays ends, which is all that the hub learns of."""
        self._stop_playing()

    def says(self, name: str) -> list[dict[str, str]]:
        """Return what the events of a name said, in order."""
        return [data for each, data in self.events if each == name]

    # --- below ---

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writer, self._noise = writer, None
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            if self.key is not None and not await self._shake_hands(reader, writer):
                return
            while True:
                kind, data = await self._frame(reader, writer)
                message = MESSAGE_TYPE_TO_PROTO[kind].FromString(data)
                self._take(message)
                if isinstance(message, api.DisconnectRequest):
                    break
        self.subscribed.clear()
        self.is_listening = False
        writer.close()

    async def _shake_hands(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if (await reader.readexactly(1)) != b"\x01":
            writer.write(b"\x01\x00\x00")  # a plain hello is answered by the mark of an encrypted one
            writer.close()
            return False
        await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
        noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
        noise.set_as_responder()
        noise.set_psks(base64.b64decode(self.key or ""))
        noise.set_prologue(b"NoiseAPIInit\x00\x00")
        noise.start_handshake()
        mac = self.mac.replace(":", "").lower()
        writer.write(_noise_frame(b"\x01" + self.name.encode() + b"\0" + mac.encode() + b"\0"))
        message = await _read_noise(reader)
        try:
            noise.read_message(message[1:])
        except Exception:  # whatever the library raises for a wrong key
            writer.write(_noise_frame(b"\x01Handshake MAC failure"))
            writer.close()
            return False
        writer.write(_noise_frame(b"\0" + noise.write_message()))
        self._noise = noise
        return True

    async def _frame(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, bytes]:
        if self._noise is not None:
            data = bytes(self._noise.decrypt(await _read_noise(reader)))
            return int.from_bytes(data[:2]), data[4:]
        if (mark := (await reader.readexactly(1))[0]) != 0:
            writer.write(b"\0Bad indicator byte")
            writer.close()
            raise ConnectionError(f"expected a plain frame, got {mark}")
        length, kind = await _varuint(reader), await _varuint(reader)
        return kind, await reader.readexactly(length)

    def _framed(self, kind: int, data: bytes) -> bytes:
        if self._noise is not None:
            whole = kind.to_bytes(2) + len(data).to_bytes(2) + data
            return _noise_frame(bytes(self._noise.encrypt(whole)))
        return b"\0" + _varuint_bytes(len(data)) + _varuint_bytes(kind) + data

    def _take(self, message: Any) -> None:
        match message:
            case api.HelloRequest():
                self.send(api.HelloResponse(api_version_major=1, api_version_minor=14, name=self.name))
            case api.AuthenticationRequest():
                self.send(api.AuthenticationResponse())
            case api.DisconnectRequest():
                self.send(api.DisconnectResponse())
            case api.PingRequest():
                self.send(api.PingResponse())
            case api.DeviceInfoRequest():
                self.send(self._about())
            case api.ListEntitiesRequest():
                self.send(*(entity for entity, _ in self.entities), api.ListEntitiesDoneResponse())
            case api.SubscribeStatesRequest():
                self.send(*(state for _, state in self.entities if state is not None))
            case api.SubscribeVoiceAssistantRequest():
                self.subscribed.set()
            case _:
                self._take_voice(message)

    def _take_voice(self, message: Any) -> None:
        match message:
            case api.VoiceAssistantConfigurationRequest():
                known = [api.VoiceAssistantWakeWord(id=id, wake_word=word) for id, word in self.wake_words.items()]
                self.send(
                    api.VoiceAssistantConfigurationResponse(
                        available_wake_words=known, active_wake_words=self.active, max_active_wake_words=2
                    )
                )
            case api.VoiceAssistantSetConfiguration():
                self.active = list(message.active_wake_words)
                self.configured.append(self.active)
            case api.VoiceAssistantEventResponse():
                self._happened(Happened(message.event_type), {each.name: each.value for each in message.data})
            case api.VoiceAssistantAnnounceRequest():
                self.announcements.append(message)
                self._continues = message.start_conversation
                self._play([each for each in (message.preannounce_media_id, message.media_id) if each])
            case api.VoiceAssistantTimerEventResponse():
                self.timers.append(message)
            case api.VoiceAssistantAudio():
                self.spoken += message.data
            case _:
                self.commands.append(message)
                if isinstance(message, api.MediaPlayerCommandRequest) and message.announcement and message.command == 2:
                    self._stop_playing()

    def _about(self) -> Any:
        return api.DeviceInfoResponse(
            name=self.name,
            mac_address=self.mac,
            esphome_version="2026.11.0",
            project_name="Nabu Casa.Voice PE",
            project_version="26.11",
            voice_assistant_feature_flags=self.features,
            **self.info,
        )

    def _happened(self, event: Happened, data: dict[str, str]) -> None:
        name = event.name.removeprefix("VOICE_ASSISTANT_")
        self.events.append((name, data))
        if name == "RUN_START":
            self._was_played = self._continues = False
        elif name in ("STT_VAD_END", "STT_END"):
            self.is_listening = False
        elif name == "TTS_END" and not self.features & VoiceAssistantFeature.SPEAKER:
            self._was_played = True
            self._play([data["url"]])
        elif name == "RUN_END":
            self.is_listening = False
            if not self._was_played:
                self._finished()
            self._was_played = False

    def _play(self, addresses: Sequence[str]) -> None:
        self._stop_playing()
        self._playing = asyncio.create_task(self._fetch_and_play(addresses))

    async def _fetch_and_play(self, addresses: Sequence[str]) -> None:
        try:
            async with aiohttp.ClientSession() as session:
                for each in addresses if self.fetches else ():
                    async with session.get(each) as answer:
                        self.played.append((answer.content_type, await answer.read()))
                        self.times.append(time.monotonic())
                        if self.clock is not None:
                            await self.clock.sleep(_seconds(self.played[-1][1]))
            await self.plays.wait()
        finally:
            self._playing = None
            self._finished()

    def _stop_playing(self) -> None:
        if self._playing is not None:
            self._playing.cancel()

    def _finished(self) -> None:
        if self._writer is None or self._writer.is_closing() or not self.finishes:
            return
        self.send(api.VoiceAssistantAnnounceFinished(success=True))
        if self._continues and not self.is_muted:
            self._continues = False
            self.send(api.VoiceAssistantRequest(start=True))
            self.is_listening = True


def _seconds(data: bytes) -> float:
    """Return how long a recording of 16-bit samples of one channel is."""
    return (len(data) - 44) / (2 * int.from_bytes(data[24:28], "little"))


def _noise_frame(data: bytes) -> bytes:
    return b"\x01" + len(data).to_bytes(2) + data


async def _read_noise(reader: asyncio.StreamReader) -> bytes:
    await reader.readexactly(1)
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))


async def _varuint(reader: asyncio.StreamReader) -> int:
    value = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value
        shift += 7


def _varuint_bytes(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
