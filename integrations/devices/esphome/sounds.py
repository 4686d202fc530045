"""The sounds that devices fetch: each has an address of its own, signed, and only for as long as it is played."""

from __future__ import annotations

import asyncio
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hub.core.errors import NotFound
from hub.core.phrases import phrase
from hub.core.surfaces import READ, HttpCall, Route
from hub.voice.contract import Sound
from hub.voice.sound import as_wav, resampled
from integrations.devices.esphome.flac import flac

if TYPE_CHECKING:
    from aiohttp import web

    from hub.host import IntegrationHost

PATH = "/api/esphome/sounds"
LIFE_S = 600.0


class SoundFormat(Struct, frozen=True):
    """What a device plays.

    Attributes:
        is_flac: Whether it wants FLAC; else WAV.
        rate: Samples a second; 0 takes any.
    """

    is_flac: bool = False
    rate: int = 0


class OfferedSound(Struct):
    """A sound that waits to be fetched.

    Attributes:
        url: Where it is.
        seconds: How long it lasts.
        fetched: Set once a device has asked for it.
        fetched_at: When that was, on the monotonic clock.
        finished: Set once a device has told that it has played it.
    """

    url: str
    data: bytes
    mime_type: str
    seconds: float
    fetched: asyncio.Event = field(default_factory=asyncio.Event)
    fetched_at: float = 0.0
    finished: asyncio.Event = field(default_factory=asyncio.Event)


class OfferedSounds:
    """The sounds that are played now."""

    def __init__(self, host: IntegrationHost) -> None:
        self._host = host
        self._offered: dict[str, OfferedSound] = {}
        host.routes.add(Route("GET", f"{PATH}/{{name}}", self._serve, host.domain, scope=READ, signable=True))

    async def offer(self, sound: Sound, form: SoundFormat) -> OfferedSound:
        """Let a sound be fetched, until it is withdrawn."""
        data = await asyncio.to_thread(_encoded, sound, form)
        kind = "flac" if form.is_flac else "wav"
        path = f"{PATH}/{token_urlsafe(12)}.{kind}"
        url = self._host.signed_url(path, LIFE_S + sound.seconds)
        offered = OfferedSound(url, data, f"audio/{kind}", sound.seconds)
        self._offered[path] = offered
        return offered

    def withdraw(self, offered: OfferedSound) -> None:
        """Let it be fetched no more."""
        self._offered = {path: each for path, each in self._offered.items() if each is not offered}

    async def _serve(self, call: HttpCall) -> web.StreamResponse:
        from aiohttp import web

        if (offered := self._offered.get(call.request.path)) is None:
            raise NotFound(phrase("this sound is not played any more"))
        offered.fetched_at = self._host.clock.monotonic()
        offered.fetched.set()
        return web.Response(body=offered.data, content_type=offered.mime_type, headers={"Cache-Control": "no-store"})


def _encoded(sound: Sound, form: SoundFormat) -> bytes:
    if form.rate and form.rate != sound.rate:
        sound = resampled(sound, form.rate)
    return flac(sound.samples, sound.rate) if form.is_flac else as_wav(sound)
