"""The command /voice: with what the home speaks, and another voice for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from hub.config.errors import ConfigInvalid
from hub.config.store import ConfigStore
from hub.messaging.commands.registry import CommandCall
from hub.messaging.texts import say
from hub.models.registry import ModelRegistry
from hub.voice.engines import VoiceEngines
from hub.voice.settings import VoiceSettings

VOICES_SHOWN = 40


class VoiceCommand(Struct, frozen=True):
    """Carries it out.

    Attributes:
        engines: What speaks.
        reload: Applies the changed configuration.
        language: Returns the language of the home.
    """

    models: ModelRegistry
    engines: VoiceEngines
    config: ConfigStore
    reload: Callable[[], Awaitable[Any]]
    language: Callable[[], str]

    async def run(self, call: CommandCall) -> str:
        """Say what speaks, list its voices, or choose another.

        Raises:
            HubError: What speaks cannot say which voices it has.
        """
        if call.word == "list":
            return await self._list()
        if call.word == "set":
            return await self._set(call)
        ref, voice = self._mouth()
        if ref is None:
            return self._say("voice.none")
        return self._say("voice.status", model=ref, voice=voice or self._say("voice.usual"))

    def _mouth(self) -> tuple[str | None, str]:
        section = self.config.current.get("voice") or {}
        return self.engines.mouth(VoiceSettings.from_config(section).for_all())

    async def _list(self) -> str:
        ref, _ = self._mouth()
        if ref is None:
            return self._say("voice.none")
        provider = ref.partition("/")[0]
        lists = provider in self.models.speech_providers()
        voices = [each.id for each in await self.models.speech_models(provider) if each.speaks] if lists else []
        if not voices:
            return self._say("voice.unknown", model=ref)
        return self._say("voice.list", model=ref, voices=", ".join(voices[:VOICES_SHOWN]))

    async def _set(self, call: CommandCall) -> str:
        if not call.context.authority.owner:
            return self._say("voice.owner")
        if not (voice := call.rest.strip()):
            return self._say("voice.which")
        try:
            await asyncio.to_thread(self.config.editor.set_value, ("voice", "voice"), voice)
        except ConfigInvalid as error:
            first = error.errors[0]
            return self._say("voice.refused", why=f"{first.message} ({first.hint})" if first.hint else first.message)
        await self.reload()
        return self._say("voice.set", voice=voice)

    def _say(self, key: str, **values: object) -> str:
        return say(key, self.language(), **values)
