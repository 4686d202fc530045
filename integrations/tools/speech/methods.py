"""`tts.*` of OpenClaw's protocol: recordings of texts for its clients, and which answers are spoken in chats."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import Unavailable
from hub.core.schema import All, AnyOf, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import READ, WRITE, Method, MethodCall
from hub.models.speech import AudioKind, audio_kind
from hub.sessions.keys import main_key
from integrations.tools.speech.answers import SpokenAnswers
from integrations.tools.speech.schema import AnswersSpoken, voice
from integrations.tools.speech.tool import TEXT_LIMIT, Speak, SpokenWords, record

if TYPE_CHECKING:
    from hub.host import IntegrationHost

OWNER = "speech"
TALK = "operator.talk"
COMMAND = "command"


class SpeechMethods:
    """The methods.

    Args:
        config: The section.
        speak: Makes the recordings.
        answers: Speaks answers in chats.
    """

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any], speak: Speak, answers: SpokenAnswers) -> None:
        self._host, self._config, self._speak, self._answers = host, config, speak, answers

    def add(self) -> None:
        """Register them."""
        text: dict[Any, Any] = {Required("text"): All(string, Length(min=1, max=TEXT_LIMIT))}
        convert = {**text, Optional("channel"): AnyOf(None, string), Optional("voiceId"): AnyOf(None, voice)}
        nothing, provider = Schema({}), Schema({Required("provider"): In((self._provider,))})
        for method in (
            Method("tts.status", self._status, OWNER, nothing, READ),
            Method("tts.providers", self._providers, OWNER, nothing, READ),
            Method("tts.enable", self._enable, OWNER, nothing, WRITE),
            Method("tts.disable", self._disable, OWNER, nothing, WRITE),
            Method("tts.setProvider", self._set_provider, OWNER, provider, WRITE),
            Method("tts.convert", self._convert, OWNER, Schema(convert), WRITE),
            Method("tts.speak", self._said, OWNER, Schema(text), TALK),
        ):
            self._host.methods.add(method)

    @property
    def _provider(self) -> str:
        """What speaks: a provider of models, or the program."""
        if "command" in self._config:
            return COMMAND
        ref: str = self._config.get("model") or self._host.models.registry.speech_ref or ""
        return ref.partition("/")[0]

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        mode = self._answers.usual
        return {
            "enabled": mode is not AnswersSpoken.OFF,
            "auto": mode.value,
            "provider": self._provider,
            "persona": None,
            "personas": [],
            "fallbackProvider": None,
            "fallbackProviders": [],
            "prefsPath": str(self._host.home.configuration),
            "providerStates": [{"id": self._provider, "label": self._provider, "configured": True}],
        }

    async def _providers(self, call: MethodCall) -> Mapping[str, Any]:
        config, id = self._config, self._provider
        models = [config["model"].partition("/")[2]] if "model" in config else []
        found = {"id": id, "name": id, "configured": True, "models": models}
        return {"providers": [found | ({"voices": [config["voice"]]} if "voice" in config else {})], "active": id}

    async def _enable(self, call: MethodCall) -> Mapping[str, Any]:
        await self._answers.choose_usual(AnswersSpoken.ALWAYS)
        return {"enabled": True}

    async def _disable(self, call: MethodCall) -> Mapping[str, Any]:
        await self._answers.choose_usual(AnswersSpoken.OFF)
        return {"enabled": False}

    async def _set_provider(self, call: MethodCall) -> Mapping[str, Any]:
        return {"provider": call.params["provider"]}

    async def _convert(self, call: MethodCall) -> Mapping[str, Any]:
        agent = self._host.agents.default().id
        words = SpokenWords(call.params["text"], agent, main_key(agent), call.context, call.params.get("voiceId"))
        media = await record(self._speak, self._host.workspaces, words)
        return {
            "audioPath": str(media.path),
            "provider": self._provider,
            "outputFormat": (media.name or "").rpartition(".")[2],
            "voiceCompatible": media.voice,
        }

    async def _said(self, call: MethodCall) -> Mapping[str, Any]:
        person = self._host.people.by_id(call.context.authority.person or "")
        data = await self._speak(call.params["text"], None, person.language if person is not None else None)
        kind: AudioKind | None = audio_kind(data)
        if kind is None:
            raise Unavailable("the speech engine made no recording")
        return {
            "audioBase64": base64.b64encode(data).decode(),
            "provider": self._provider,
            "outputFormat": kind.suffix.removeprefix("."),
            "mimeType": kind.mime_type,
            "fileExtension": kind.suffix,
        }
