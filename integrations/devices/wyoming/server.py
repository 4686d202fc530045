"""A server of the Wyoming protocol that handles sentences, and hears and speaks with what the hub has for that."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from hub import __version__
from hub.core.context import Authority, Context
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.host import IntegrationHost
from hub.integration.errors import NotReady
from hub.models.contract import AUTO
from hub.models.speaker import speak
from hub.models.transcriber import transcriber
from hub.sessions.keys import SessionKey, SessionKind
from integrations.devices.wyoming.sound import Sound, SoundCollector, read_wav
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode, read_event

_log = logging.getLogger(__name__)

CONNECTIONS_LIMIT = 20
IDLE_LIMIT_S = 60.0
ANSWER_LIMIT_S = 60.0
"""Who spoke waits no longer; what the owner has to approve is not done then."""
TEXT_LIMIT_CHARS = 4_000
ID_LIMIT_CHARS = 100
LANGUAGES = (
    *("ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("it", "ja", "ko", "lt", "lv", "ms", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "th", "tr"),
    *("uk", "ur", "vi", "zh"),
)
"""Home Assistant offers a service for the languages that it names; which of them are understood is the model's."""


class WyomingServer:
    """Answers those that may connect.

    Args:
        config: The section.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any]) -> None:
        self._host, self._config = host, config
        self._allowed = [ipaddress.ip_network(each) for each in config["allow"]]
        self._connections = 0

    async def start(self) -> asyncio.Server:
        """Listen, and return the server.

        Raises:
            NotReady: The port is taken.
        """
        address, port = self._config["listen"], self._config["port"]
        try:
            return await asyncio.start_server(self._take, address, port, limit=EVENT_LIMIT_BYTES)
        except OSError as error:
            raise NotReady(f"wyoming cannot listen on {address} port {port}: {error.strerror or error}") from error

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= CONNECTIONS_LIMIT or not self._may(writer.get_extra_info("peername")[0]):
            writer.close()
            return
        self._connections += 1
        self._host.spawn(self._guarded(reader, writer), name="wyoming connection")

    async def _guarded(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, ValueError, RecursionError):
                await self._serve(reader, writer)
        finally:
            self._connections -= 1
            writer.close()

    def _may(self, peer: str) -> bool:
        address = ipaddress.ip_address(peer)
        address = getattr(address, "ipv4_mapped", None) or address
        may = address.is_loopback or any(address in each for each in self._allowed)
        if not may:
            _log.warning("%s may not connect to wyoming; add it to allow if it is your Home Assistant", address)
        return may

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard, language = SoundCollector(), None
        while (event := await read_event(reader, IDLE_LIMIT_S)) is not None:
            answers: Iterable[WyomingEvent] = ()
            match event.type:
                case "describe":
                    answers = [WyomingEvent("info", self._info())]
                case "ping":
                    answers = [WyomingEvent("pong", {"text": event.data.get("text")})]
                case "transcript":
                    answers = [WyomingEvent(*await self._handle(event.data))]
                case "transcribe":
                    heard, language = SoundCollector(), event.data.get("language")
                case "audio-chunk":
                    heard.add(event)
                case "audio-stop":
                    answers = await self._hear(heard.take(), language)
                case "synthesize":
                    answers = await self._speak(event.data)
            for each in answers:
                writer.write(encode(each))
                await writer.drain()

    async def _hear(self, sound: Sound, language: Any) -> Iterable[WyomingEvent]:
        """Return the transcript of a sound."""
        if not sound.samples or (ref := self._ear()) is None:
            return ()
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                hear = transcriber(self._host.models.registry, ref)
                text = await hear(sound.as_wav(), "wyoming.wav", language if isinstance(language, str) else None)
        except (HubError, TimeoutError) as error:
            return [_failed("stt", error)]
        return [WyomingEvent("transcript", {"text": text})]

    async def _speak(self, said: Mapping[str, Any]) -> Iterable[WyomingEvent]:
        """Return a text as sound."""
        text, voice = said.get("text"), said.get("voice")
        asked = voice if isinstance(voice, dict) else {}
        name, language = (each if isinstance(each := asked.get(key), str) else None for key in ("name", "language"))
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_LIMIT_CHARS:
            return [_failed("tts", InvalidRequest(f"expected a text of at most {TEXT_LIMIT_CHARS} characters"))]
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                data = await speak(self._host.models.registry, None, text, name or "", "wav", language)
        except (HubError, TimeoutError) as error:
            return [_failed("tts", error)]
        sound = read_wav(data)
        return sound.events() if sound is not None else [_failed("tts", Unavailable("what speaks gave no WAV file"))]

    def _ear(self) -> str | None:
        """Return the model that hears."""
        usual = self._host.config.or_default("messages")["media"].get("transcription_model")
        return usual or self._host.models.registry.speech_ref

    async def _handle(self, said: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        text, context = said.get("text"), said.get("context")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_LIMIT_CHARS:
            return "not-handled", {"text": f"expected a text of at most {TEXT_LIMIT_CHARS} characters"}
        about = context if isinstance(context, dict) else {}
        agent = self._config.get("agent") or self._host.agents.default().id
        asked = {"agent": agent, "message": text, "silent": False}
        if conversation := str(about.get("conversation_id") or "")[:ID_LIMIT_CHARS]:
            asked["session"] = str(SessionKey(agent, SessionKind.HOOK, f"wyoming:{conversation}"))
        known = self._host.people.by_id(self._config.get("person") or "")
        by = Context(Authority("device:wyoming", known.id if known is not None else None, tainted=known is None))
        try:
            answer = await self._host.services.registry.call(
                "agent", "run", asked, context=by, wants_response=True, timeout_s=ANSWER_LIMIT_S
            )
        except HubError as error:
            _log.warning("a sentence was not handled: %s", error)
            return "not-handled", {"text": error.message, "context": about}
        return "handled", {"text": (answer or {}).get("reply", ""), "context": about}

    def _info(self) -> dict[str, Any]:
        about = {
            "name": str(self._host.config.or_default("hub")["name"]),
            "description": "Homarus",
            "attribution": {"name": "Homarus", "url": ""},
            "installed": True,
            "version": __version__,
        }
        model = {**about, "languages": []}
        found: dict[str, Any] = {each: [] for each in ("asr", "tts", "intent", "wake", "mic", "snd")}
        found["handle"] = [{**about, "models": [model], "supports_home_control": True}]
        known = {
            **about,
            "name": AUTO,
            "languages": [self._host.language, *(each for each in LANGUAGES if each != self._host.language)],
        }
        if self._ear() is not None:
            found["asr"] = [{**about, "models": [known]}]
        if self._host.models.registry.speech_ref is not None:
            found["tts"] = [{**about, "voices": [known]}]
        return found


def _failed(what: str, error: Exception) -> WyomingEvent:
    said = error.message if isinstance(error, HubError) else f"no answer within {ANSWER_LIMIT_S:g} s"
    _log.warning("wyoming: %s failed: %s", what, said)
    return WyomingEvent("error", {"text": said, "code": f"{what}-failed"})
