"""`talk.catalog|config|mode|speak`: with what clients of OpenClaw's protocol hear and speak.

Everything is done by this hub: its engines hear and speak, and the sound of a talk goes through its gateway. What a
client would do with a vendor over WebRTC is not offered.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import Forbidden, HubError, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, Length, Optional, Required, Schema, boolean, string
from hub.core.surfaces import READ, Method, MethodCall, Push
from hub.models.registry import ModelRegistry
from hub.models.speaker import speak
from hub.models.speech import FORMATS, audio_kind
from hub.models.transcription import Transcribe

OWNER = "gateway"
TALK, TALK_SECRETS = "operator.talk", "operator.talk.secrets"
RATE = 24_000
"""Samples a second of the sound in a talk, both ways, as OpenClaw's clients have it."""
RELAY, REALTIME, CONSULT = "gateway-relay", "realtime", "agent-consult"
PROVIDER, LABEL = "homarus", "Homarus"
CLIENT = ("create", "transcript", "toolCall", "steer", "close")
"""What clients call who talk with a vendor by themselves."""
TEXT_LIMIT = 4_000
USUAL_FORMAT = "mp3"
SILENCE_MS = 800
"""Silence that ends what is said, unless a client asks for another."""
_PCM: Mapping[str, Any] = {"encoding": "pcm16", "sampleRateHz": RATE, "channels": 1}
_WORD = AnyOf(None, All(string, Length(max=128)))


class TalkMethods:
    """The methods.

    Args:
        models: Know what speaks.
        transcriber: Returns what hears; None when nothing does.
        language: Returns the home's language.
        push: Sends events to clients.
        speech: Returns the section of what speaks voice messages.
    """

    def __init__(
        self,
        models: ModelRegistry,
        transcriber: Callable[[], Transcribe | None],
        language: Callable[[], str],
        clock: Clock,
        push: Callable[[Push], Any],
        *,
        speech: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._models, self._transcriber, self._language = models, transcriber, language
        self._clock, self._push, self._speech = clock, push, speech

    def methods(self) -> list[Method]:
        """Return the methods."""
        mode = Schema({Required("enabled"): boolean, Optional("phase"): AnyOf(None, All(string, Length(max=64)))})
        # The other knobs are of vendors' voices; clients of others may send them.
        said = Schema(
            {
                Required("text"): All(string, Length(min=1, max=TEXT_LIMIT)),
                **{Optional(key): _WORD for key in ("voiceId", "modelId", "outputFormat", "language")},
            }
        )
        return [
            Method("talk.catalog", self._catalog, OWNER, Schema({}), READ),
            Method("talk.config", self._config, OWNER, Schema({Optional("includeSecrets"): boolean}), READ),
            Method("talk.mode", self._mode, OWNER, mode, TALK),
            Method("talk.speak", self._speak, OWNER, said, TALK),
            *(Method(f"talk.client.{each}", _refused, OWNER, Schema({}, extra=REMOVE_EXTRA), TALK) for each in CLIENT),
        ]

    @property
    def _mouth(self) -> str | None:
        """The provider that speaks."""
        ref = self._ref
        return ref.partition("/")[0] if ref is not None else None

    @property
    def _ref(self) -> str | None:
        return self._speech().get("model") or self._models.speech_ref

    async def _catalog(self, call: MethodCall) -> Mapping[str, Any]:
        mouth, hears = self._mouth, self._transcriber() is not None
        talks = mouth is not None and hears
        modes = [*([REALTIME] if talks else []), *(["stt-tts"] if mouth else []), *(["transcription"] if hears else [])]
        speech = {"modes": ["stt-tts"], "brains": [CONSULT]}
        ears = {"modes": ["transcription"], "transports": [RELAY], "brains": ["none"]}
        realtime = {
            "modes": [REALTIME],
            "transports": [RELAY],
            "brains": [CONSULT],
            "inputAudioFormats": [_PCM],
            "outputAudioFormats": [_PCM],
            "supportsBrowserSession": False,
            "supportsBargeIn": True,
            "supportsToolCalls": False,
            "supportsVideoFrames": False,
        }
        return {
            "modes": modes,
            "transports": [RELAY] if hears else [],
            "brains": [*([CONSULT] if mouth else []), *(["none"] if hears else [])],
            "speech": _group(speech, is_ready=mouth is not None),
            "transcription": _group(ears, is_ready=hears),
            "realtime": _group(realtime, is_ready=talks),
        }

    async def _config(self, call: MethodCall) -> Mapping[str, Any]:
        if call.params.get("includeSecrets") and not call.caller.authority.has(TALK_SECRETS):
            raise Forbidden(
                phrase("missing scope: {scope}", scope=TALK_SECRETS), details={"missingScope": TALK_SECRETS}
            )
        config: dict[str, Any] = {"session": {"mainKey": "main"}}
        if self._mouth is None:
            return {"config": config}
        talk: dict[str, Any] = {
            "provider": PROVIDER,
            "providers": {PROVIDER: {}},
            "resolved": {"provider": PROVIDER, "config": {}},
            "speechLocale": self._language(),
            "interruptOnSpeech": True,
            "silenceTimeoutMs": SILENCE_MS,
        }
        if self._transcriber() is not None:
            talk["realtime"] = {"provider": PROVIDER, "mode": REALTIME, "transport": RELAY, "brain": CONSULT}
        return {"config": config | {"talk": talk}}

    async def _mode(self, call: MethodCall) -> Mapping[str, Any]:
        told = {"enabled": call.params["enabled"], "phase": call.params.get("phase")}
        told["ts"] = int(self._clock.time() * 1000)
        self._push(Push("talk.mode", told, scope=READ, droppable=True))
        return told

    async def _speak(self, call: MethodCall) -> Mapping[str, Any]:
        params, ref, usual = call.params, self._ref, self._speech().get("voice", "")
        if ref is None:
            # A client that is told so speaks with a voice of its own.
            details = {"reason": "talk_unconfigured", "fallbackEligible": True}
            raise Unavailable(phrase("nothing speaks here: set `voice:` (docs/voice.md)"), details=details)
        if model := params.get("modelId"):
            ref = model if "/" in model else f"{self._mouth}/{model}"
        form = format_of(params.get("outputFormat"))
        try:
            data = await speak(
                self._models, ref, params["text"], params.get("voiceId") or usual, form, params.get("language")
            )
        except HubError as error:
            details = {"reason": "synthesis_failed", "fallbackEligible": False}
            raise Unavailable(error.message, details=details, outside=error.outside) from error
        return spoken(data, PROVIDER)


async def _refused(call: MethodCall) -> Mapping[str, Any]:
    raise InvalidRequest(
        phrase("{method}: nothing here talks with a vendor over WebRTC; use talk.session.create", method=call.method),
        details={"talkIssue": {"code": "realtime_unavailable", "transport": RELAY}},
    )


def format_of(asked: str | None) -> str:
    """Return one of `FORMATS` for a client's word, such as `mp3_44100_128`; the usual one for anything unknown."""
    return next((each for each in FORMATS if asked and asked.lower().startswith(each)), USUAL_FORMAT)


def spoken(data: bytes, provider: str) -> Mapping[str, Any]:
    """Return a recording as clients take it.

    Raises:
        Unavailable: It is none.
    """
    kind = audio_kind(data)
    if kind is None:
        details = {"reason": "invalid_audio_result", "fallbackEligible": False}
        raise Unavailable(phrase("what speaks here made no recording"), details=details)
    return {
        "audioBase64": base64.b64encode(data).decode(),
        "provider": provider,
        "outputFormat": kind.suffix.removeprefix("."),
        "voiceCompatible": kind.as_voice,
        "mimeType": kind.mime_type,
        "fileExtension": kind.suffix,
    }


def _group(provider: Mapping[str, Any], *, is_ready: bool) -> Mapping[str, Any]:
    if not is_ready:
        return {"ready": False, "providers": []}
    entry = {"id": PROVIDER, "label": LABEL, "configured": True, **provider}
    return {"ready": True, "activeProvider": PROVIDER, "providers": [entry]}
