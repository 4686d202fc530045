"""Words that players say: `tts.speak` and `tts.NAME_say`; a recording has an address of the hub for a few minutes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.context import Context, system_context
from hub.core.errors import NotFound, Unavailable
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, as_list, boolean, string
from hub.core.services import AgentRule, ServiceCall
from hub.core.surfaces import READ, HttpCall, Route
from hub.entities.description import EntityDescription
from hub.models.speaker import speak
from hub.models.speech import audio_kind
from integrations.tools.speech_program import speak_by_program

if TYPE_CHECKING:
    from aiohttp import web

    from hub.host import IntegrationHost

PATH = "/api/tts_proxy"
USUAL = "home"
LIFE_S = 600.0
KEPT = 30
"""Recordings that are kept at most; each is at most 20 MB."""
PLAYERS = "entity_id"
_TEXT = All(string, Length(min=1, max=4_000))
_SAY = Schema(
    {
        Required(PLAYERS, description="The players."): All(as_list, [string], Length(min=1, max=100)),
        Required("message", description="What is said."): _TEXT,
        Optional("language", description="Its language, such as de."): All(string, Length(max=35)),
        Optional(
            "cache", default=True, description="Whether words that were spoken before are spoken from memory."
        ): boolean,
        Optional("options", default=dict, description="voice: another voice than the usual one."): {
            Optional("voice"): All(string, Length(max=100))
        },
    }
)


class _Recording(Struct, frozen=True):
    said: tuple[str, str, str]
    """Text, language and voice."""
    data: bytes
    mime_type: str
    suffix: str


class Speech:
    """Speaks, and serves what was spoken."""

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._recordings: OrderedDict[str, _Recording] = OrderedDict()
        self.names: frozenset[str] = frozenset()
        """The engines: the second halves of their entity ids."""

    def offer(self, further: Iterable[str]) -> None:
        """Add the engines and their services.

        Args:
            further: Names beside the usual one.
        """
        self.names = frozenset((USUAL, *further))
        for name in sorted(self.names):
            description = EntityDescription("tts", name, "Homarus" if name == USUAL else name, object_id=name)
            handle = self._host.entities.add(description, {})
            registry = self._host.services.registry
            self._host.on_unload(
                registry.register("tts", f"{name}_say", self._say, _SAY, agent=AgentRule.ASK, told=("message",))
            )

            async def command(data: Mapping[str, Any], handle: Any = handle) -> None:
                handle.set(self._host.clock.now().isoformat())
                await self._play(data, data["media_player_entity_id"], handle.cause or system_context())

            handle.commands = {"speak": command}
        self._host.routes.add(Route("GET", f"{PATH}/{{name}}", self._serve, "media", READ, cookie=True, signable=True))

    async def _say(self, call: ServiceCall) -> None:
        await self._play(call.data, call.data[PLAYERS], call.context)

    async def _play(self, data: Mapping[str, Any], players: Any, context: Context) -> None:
        url, mime_type = await self.address(
            data["message"],
            data.get("language", ""),
            str(data["options"].get("voice", "")),
            is_cached=data.get("cache", True),
        )
        played = {"media_content_id": url, "media_content_type": mime_type, "announce": True}
        await self._host.services.call("media_player", "play_media", {"entity_id": players, **played}, context=context)

    async def address(
        self, text: str, language: str = "", voice: str = "", *, is_cached: bool = True
    ) -> tuple[str, str]:
        """Return the address of the spoken words, good for some minutes, and the type of the recording.

        Raises:
            HubError: Nothing speaks, or it failed.
        """
        said = (text, language, voice)
        known = [name for name, each in self._recordings.items() if each.said == said] if is_cached else []
        name = known[0] if known else await self._record(said)
        recording = self._recordings[name]
        self._recordings.move_to_end(name)
        return self._host.signed_url(f"{PATH}/{name}{recording.suffix}", LIFE_S), recording.mime_type

    async def _record(self, said: tuple[str, str, str]) -> str:
        data = await self._spoken(*said)
        kind = audio_kind(data)
        if kind is None:
            raise Unavailable(phrase("the speech engine made no recording"))
        name = new_id()
        self._recordings[name] = _Recording(said, data, kind.mime_type, kind.suffix)
        while len(self._recordings) > KEPT:
            self._recordings.popitem(last=False)
        return name

    async def _spoken(self, text: str, language: str, voice: str) -> bytes:
        section: Mapping[str, Any] = self._host.config.get("speech") or {}
        chosen = voice or section.get("voice", "")
        if "command" in section:
            return await speak_by_program(section["command"], text, chosen)
        models = self._host.models.registry
        return await speak(models, section.get("model"), text, chosen, "mp3", language or None)

    async def _serve(self, call: HttpCall) -> web.StreamResponse:
        from aiohttp import web

        recording = self._recordings.get(call.params["name"].partition(".")[0])
        if recording is None:
            raise NotFound(phrase("there is no such recording, or no longer"))
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=recording.data, content_type=recording.mime_type, headers=headers)
