"""What one client of the Wyoming server asks: what is to be handled, heard, spoken, or searched for wake words.

Each answer goes out as it comes: a sentence of the agent's, what was said until a pause, the sound of a sentence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hub import __version__
from hub.core.context import Authority, Context
from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.events import Event
from hub.host import IntegrationHost
from hub.messaging.outbox.markup import spoken_words
from hub.models.contract import AUTO
from hub.models.speaker import speak
from hub.models.transcriber import transcriber
from hub.sessions.keys import SessionKey, SessionKind
from hub.voice.contract import Sound
from hub.voice.segmenter import Segmenter, SpeechBegan
from hub.voice.sentences import Sentences
from hub.voice.sound import Resampler, as_wav, read_wav
from hub.voice.wake import WakeEngine, WakeWord, plain_word
from integrations.devices.wyoming.sound import SOUND_LIMIT_BYTES, events_of, form_of
from integrations.devices.wyoming.wake import WyomingWake
from integrations.devices.wyoming.wire import WyomingEvent, encode

_log = logging.getLogger(__name__)

ANSWER_LIMIT_S = 60.0
"""Who spoke waits no longer; what the owner has to approve is not done then."""
TEXT_LIMIT_CHARS = 4_000
STREAM_LIMIT_CHARS = 40_000
ID_LIMIT_CHARS = 100
GRACE_S = 0.5
"""Until all of a sound has been searched that ended."""
SENSITIVITY = 0.5
"""As the maker of a word advises: the protocol has no other."""
SATELLITE = "assist_satellite."
PAUSE_MS = 1_000
"""What was said before such a pause is told before the rest was said."""
LANGUAGES = (
    *("ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("it", "ja", "ko", "lt", "lv", "ms", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "th", "tr"),
    *("uk", "ur", "vi", "zh"),
)
"""Home Assistant offers a service for the languages that it names; which of them are understood is the model's."""


class WyomingConnection:
    """Answers one client.

    Args:
        config: The section.
        writer: Takes the answers.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        self._host, self._config, self._writer = host, config, writer
        self._hearing: _Hearing | None = None
        self._speaking: _Speaking | None = None
        self._spotting: _Spotting | None = None

    def close(self) -> None:
        """Listen no more."""
        spotting, self._spotting = self._spotting, None
        if spotting is not None:
            spotting.close()

    async def take(self, event: WyomingEvent) -> None:
        """Answer an event.

        Raises:
            ValueError: It is not of the protocol.
            OSError: The client has gone.
        """
        data = event.data
        match event.type:
            case "describe":
                await self._send(WyomingEvent("info", await self._info()))
            case "ping":
                await self._send(WyomingEvent("pong", {"text": data.get("text")}))
            case "transcript":
                await self._handle(data)
            case "detect":
                await self._spot(data.get("names"))
            case "audio-start" | "audio-chunk" | "audio-stop" if self._spotting is not None:
                await self._search(self._spotting, event)
            case "transcribe" | "audio-start":
                if event.type == "transcribe" or self._hearing is None:
                    self._hearing = _Hearing(_text(data.get("language")) or None)
            case "audio-chunk":
                self._hearing = self._hearing or _Hearing(None)
                await self._hear(self._hearing, self._hearing.feed(event))
            case "audio-stop" if (hearing := self._hearing) is not None:
                self._hearing = None
                await self._hear(hearing, hearing.end(), is_end=True)
            case "synthesize-start":
                self._speaking = _Speaking(data)
            case "synthesize-chunk" if self._speaking is not None:
                await self._speak(self._speaking, self._speaking.feed(_text(data.get("text"))))
            case "synthesize-stop" if self._speaking is not None:
                speaking, self._speaking = self._speaking, None
                await self._speak(speaking, speaking.end())
                await self._send(WyomingEvent("synthesize-stopped"))
            case "synthesize" if self._speaking is None:  # else it is all that came in pieces, once more
                text = _text(data.get("text"))
                if not 0 < len(text.strip()) <= TEXT_LIMIT_CHARS:
                    await self._fail("tts", InvalidRequest(_EXPECTED))
                    return
                await self._speak(_Speaking(data), [text])

    # --- finding wake words ---

    async def _spot(self, names: Any) -> None:
        """Listen for words, or without a name for the usual one, in the sound that follows."""
        self.close()
        known = await self._wake_words()
        wanted = [plain_word(each) for each in names or () if isinstance(each, str)]
        for engine, words in known.items():
            chosen = [each.id for each in words if plain_word(each.id) in wanted] if wanted else [words[0].id]
            if chosen:
                self._spotting = _Spotting(engine, chosen, self._found)
                return
        there = ", ".join(each.id for words in known.values() for each in words)
        reason = f"there are {there}" if there else "nothing finds wake words here: `homarus voice install wake`"
        await self._fail("wake", InvalidRequest(f"none of these wake words is known: {names}; {reason}"))

    async def _search(self, spotting: _Spotting, event: WyomingEvent) -> None:
        if event.type != "audio-stop":
            spotting.feed(event)
            return
        if not spotting.has_found:
            await self._host.clock.sleep(GRACE_S)
        self.close()
        if not spotting.has_found:
            await self._send(WyomingEvent("not-detected"))

    async def _wake_words(self) -> Mapping[WakeEngine, Sequence[WakeWord]]:
        """Return what this machine finds; what other machines find they offer themselves."""
        engines = self._host.satellites.registry.wake_engines
        return (await engines.known(lambda each: not isinstance(each, WyomingWake)))[0]

    def _found(self, word: str) -> None:
        self._writer.write(encode(WyomingEvent("detection", {"name": word})))

    # --- hearing ---

    async def _hear(self, hearing: _Hearing, sounds: Iterable[Sound], *, is_end: bool = False) -> None:
        """Tell what was said in sounds, and at the end all of it."""
        if (ref := self._ear()) is None or hearing.has_failed:
            return
        try:
            for sound in sounds:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    hear = transcriber(self._host.models.registry, ref)
                    text = await hear(as_wav(sound), "wyoming.wav", hearing.language)
                if not hearing.has_begun:
                    hearing.has_begun = True
                    await self._send(WyomingEvent("transcript-start", {"language": hearing.language}))
                if piece := hearing.text.add(text):
                    await self._send(WyomingEvent("transcript-chunk", {"text": piece}))
        except (HubError, TimeoutError) as error:
            hearing.has_failed = True
            await self._fail("stt", error)
            return
        if is_end and hearing.has_begun:
            await self._send(WyomingEvent("transcript", {"text": hearing.text.whole}), WyomingEvent("transcript-stop"))

    def _ear(self) -> str | None:
        """Return the model that hears."""
        usual = self._host.config.or_default("messages")["media"].get("transcription_model")
        return usual or self._host.models.registry.speech_ref

    # --- speaking ---

    async def _speak(self, speaking: _Speaking, texts: Iterable[str]) -> None:
        """Send texts as sound, one after the other."""
        for text in texts:
            if speaking.has_failed:
                return
            try:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    models = self._host.models.registry
                    data = await speak(models, None, text, speaking.voice, "wav", speaking.language)
                if (sound := read_wav(data)) is None:
                    raise Unavailable("what speaks gave no WAV file")
            except (HubError, TimeoutError) as error:
                speaking.has_failed = True
                await self._fail("tts", error)
                return
            await self._send(*events_of(sound))

    # --- handling ---

    async def _handle(self, said: Mapping[str, Any]) -> None:
        """Have an agent answer a sentence, and tell the answer by sentences, then as a whole."""
        text, context = said.get("text"), said.get("context")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= TEXT_LIMIT_CHARS:
            await self._send(WyomingEvent("not-handled", {"text": _EXPECTED}))
            return
        about = context if isinstance(context, dict) else {}
        place = self._place(about)
        if place and (told := await self._host.satellites.registry.answer_ring(place, text)) is not None:
            await self._send(WyomingEvent("handled", {"text": told, "context": about}))
            return
        answer = _Answer(self._writer, about)
        unsubscribe = self._host.bus.listen("run_delta", answer.heard)
        try:
            found = await self._run(text, about, answer.notes)
        except HubError as error:
            _log.warning("a sentence was not handled: %s", error)
            ends = [WyomingEvent("not-handled", {"text": error.message, "context": about})]
        else:
            reply = str((found or {}).get("reply", ""))
            answer.end(reply)
            ends = [WyomingEvent("handled", {"text": spoken_words(reply) or reply, "context": about})]
        finally:
            unsubscribe()
        await self._send(*ends, *([WyomingEvent("handled-stop")] if answer.has_begun else ()))

    async def _run(self, text: str, about: Mapping[str, Any], notes: dict[str, Any]) -> Mapping[str, Any] | None:
        agent = self._config.get("agent") or self._host.agents.default().id
        asked: dict[str, Any] = {"agent": agent, "message": text, "silent": False}
        if conversation := str(about.get("conversation_id") or "")[:ID_LIMIT_CHARS]:
            asked["session"] = str(SessionKey(agent, SessionKind.HOOK, f"wyoming:{conversation}"))
            if (place := self._place(about)) is not None:
                self._host.satellites.registry.held_at(asked["session"], place)
                asked["spoken"] = True
        if (room := self._room(about)) is not None:
            asked["area"] = room
        known = self._host.people.by_id(self._config.get("person") or "")
        by = Context(Authority("device:wyoming", known.id if known is not None else None, tainted=known is None))
        registry = self._host.services.registry
        return await registry.call(
            "agent", "run", asked, context=by, wants_response=True, timeout_s=ANSWER_LIMIT_S, notes=notes
        )

    def _place(self, about: Mapping[str, Any]) -> str | None:
        """Return the entity of Home Assistant's satellite, empty for one that is not here; None if nobody spoke."""
        registry = self._host.entities.registry
        satellite, device = _text(about.get("satellite_id")), _text(about.get("device_id"))
        if satellite in registry.entities and satellite.startswith(SATELLITE):
            return satellite
        known = registry.local_id(device) if device else None
        here = (id for id, each in registry.entities.items() if known and each.device_id == known)
        return next((id for id in here if id.startswith(SATELLITE)), "") if satellite or device else None

    def _room(self, about: Mapping[str, Any]) -> str | None:
        """Return the name of the room of Home Assistant's satellite, or of its device, if they came over its bridge."""
        registry = self._host.entities.registry
        satellite = registry.entities.get(_text(about.get("satellite_id")))
        area = registry.area_of(satellite) if satellite is not None else None
        device = registry.devices.get(registry.local_id(_text(about.get("device_id"))) or "")
        if area is None and device is not None:
            area = registry.areas.get(device.area_id or "")
        return area.name if area is not None else None

    # --- telling ---

    async def _info(self) -> dict[str, Any]:
        about = {
            "name": str(self._host.config.or_default("hub")["name"]),
            "description": "Homarus",
            "attribution": {"name": "Homarus", "url": ""},
            "installed": True,
            "version": __version__,
        }
        language = self._host.language
        known = {**about, "name": AUTO, "languages": [language, *(each for each in LANGUAGES if each != language)]}
        found: dict[str, Any] = {each: [] for each in ("asr", "tts", "intent", "wake", "mic", "snd")}
        model = {**known, "name": about["name"]}
        can = {"supports_home_control": True, "supports_handled_streaming": True}
        found["handle"] = [{**about, "models": [model], **can}]
        if self._ear() is not None:
            found["asr"] = [{**about, "models": [known], "supports_transcript_streaming": True}]
        if self._host.models.registry.speech_ref is not None:
            found["tts"] = [{**about, "voices": [known], "supports_synthesize_streaming": True}]
        spots = [
            {**about, "name": each.id, "phrase": each.name, "languages": list(each.languages)}
            for words in (await self._wake_words()).values()
            for each in words
        ]
        if spots:
            found["wake"] = [{**about, "models": spots}]
        return found

    async def _fail(self, what: str, error: Exception) -> None:
        said = error.message if isinstance(error, HubError) else f"no answer within {ANSWER_LIMIT_S:g} s"
        _log.warning("wyoming: %s failed: %s", what, said)
        await self._send(WyomingEvent("error", {"text": said, "code": f"{what}-failed"}))

    async def _send(self, *events: WyomingEvent) -> None:
        for each in events:
            self._writer.write(encode(each))
            await self._writer.drain()


class _Spotting:
    """Sound in which wake words are looked for.

    Attributes:
        has_found: Whether any was there.
    """

    def __init__(self, engine: WakeEngine, words: Sequence[str], tell: Callable[[str], None]) -> None:
        self.has_found = False
        self._tell = tell
        self._resampler: Resampler | None = None
        self._form: tuple[int, int, int] | None = None
        self._stream = engine.open("a client of wyoming", words, SENSITIVITY, self._heard)

    def feed(self, event: WyomingEvent) -> None:
        """Take an `audio-start` or an `audio-chunk`.

        Raises:
            ValueError: It is no sound that can be listened to.
        """
        form = form_of(event)
        if form != self._form:
            try:
                self._resampler, self._form = Resampler(*form), form
            except InvalidRequest as error:
                raise ValueError(error.message) from error
        if self._resampler is not None and event.payload:
            self._stream.feed(self._resampler.feed(event.payload))

    def close(self) -> None:
        """Listen no more."""
        self._stream.close()

    def _heard(self, word: str, since: bytes) -> None:
        self.has_found = True
        self._tell(word)


class _Joined:
    """A text put together of what comes in pieces."""

    def __init__(self) -> None:
        self.whole = ""

    def add(self, text: str) -> str:
        """Return a piece with what is between it and the pieces before; Chinese has nothing between sentences."""
        text = text.strip()
        piece = f" {text}" if text and self.whole[-1:].isascii() and self.whole else text
        self.whole += piece
        return piece


class _Hearing:
    """Sound that is heard, cut at pauses.

    Attributes:
        text: What was said until now.
        has_begun: Whether anything of it was told.
    """

    def __init__(self, language: str | None) -> None:
        self.language = language
        self.text = _Joined()
        self.has_begun = self.has_failed = False
        self._form: tuple[int, int, int] | None = None
        self._resampler: Resampler | None = None
        self._segmenter = Segmenter(PAUSE_MS)
        self._samples = bytearray()
        self._size_bytes = 0
        self._is_speech = False

    def feed(self, event: WyomingEvent) -> list[Sound]:
        """Return what ended with a piece.

        Raises:
            ValueError: It is too long, or of another kind than before, or of none.
        """
        form = form_of(event)
        if self._resampler is None:
            try:
                self._resampler, self._form = Resampler(*form), form
            except InvalidRequest as error:
                raise ValueError(error.message) from error
        self._size_bytes += len(event.payload)
        if form != self._form or self._size_bytes > SOUND_LIMIT_BYTES:
            raise ValueError(f"expected at most {SOUND_LIMIT_BYTES} bytes of one kind of sound")
        samples = self._resampler.feed(event.payload)
        self._samples += samples
        found = []
        for each in self._segmenter.feed(samples):
            self._is_speech = isinstance(each, SpeechBegan)
            if not isinstance(each, SpeechBegan):
                found.append(Sound(each.sound))
                self._samples.clear()
        return found

    def end(self) -> list[Sound]:
        """Return the rest, if anything was said in it, or nothing was before."""
        is_wanted = self._samples and (self._is_speech or not self.has_begun)
        return [Sound(bytes(self._samples))] if is_wanted else []


class _Speaking:
    """A text that is spoken as it comes."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        voice = said.get("voice")
        asked = voice if isinstance(voice, dict) else {}
        self.voice, self.language = _text(asked.get("name")), _text(asked.get("language")) or None
        self.has_failed = False
        self._sentences = Sentences()
        self._chars = 0

    def feed(self, text: str) -> list[str]:
        """Return the sentences that are whole by now.

        Raises:
            ValueError: It is too long.
        """
        self._chars += len(text)
        if self._chars > STREAM_LIMIT_CHARS:
            raise ValueError(f"expected a text of at most {STREAM_LIMIT_CHARS} characters")
        return self._sentences.feed(text)

    def end(self) -> list[str]:
        """Return the rest."""
        return self._sentences.end()


class _Answer:
    """An answer that is told by sentences while the agent writes it.

    Attributes:
        notes: Has the run's id, once it began.
    """

    def __init__(self, writer: asyncio.StreamWriter, about: Mapping[str, Any]) -> None:
        self._writer, self._about = writer, about
        self.notes: dict[str, Any] = {}
        self.has_begun = False
        self._sentences = Sentences()
        self._text = _Joined()

    def heard(self, event: Event) -> None:
        """Take a piece."""
        if event.data["run_id"] != self.notes.get("run_id"):
            return
        text = event.data["text"]
        if event.data["so_far_chars"] == len(text):  # another message begins
            self._tell(self._sentences.end())
        self._tell(self._sentences.feed(text))

    def end(self, reply: str) -> None:
        """Tell the rest; all of it if it did not come in pieces."""
        self._tell(self._sentences.end())
        if not self.has_begun:
            self._tell([*self._sentences.feed(reply), *self._sentences.end()])

    def _tell(self, sentences: Iterable[str]) -> None:
        for each in sentences:
            if not self.has_begun:
                self.has_begun = True
                self._writer.write(encode(WyomingEvent("handled-start", {"context": self._about})))
            self._writer.write(encode(WyomingEvent("handled-chunk", {"text": self._text.add(each)})))


_EXPECTED = f"expected a text of at most {TEXT_LIMIT_CHARS} characters"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
