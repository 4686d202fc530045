"""`POST /v1/audio/speech`: a recording of a text, in the voice of voice messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, Length, Optional, Required, Schema
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.gateway.http_api.openai_shapes import show_error
from hub.models.speech import audio_kind
from integrations.tools.speech.schema import voice
from integrations.tools.speech.tool import TEXT_LIMIT, Speak

if TYPE_CHECKING:
    from aiohttp import web

DOMAIN = "speech"
SUFFIXES = {"opus": ".ogg", "mp3": ".mp3", "wav": ".wav", "flac": ".flac"}
_BODY = Schema(
    {
        Required("input"): All(str, Length(min=1, max=TEXT_LIMIT)),
        Optional("voice"): AnyOf(None, voice),
        Optional("response_format"): AnyOf(None, str),
    },
    extra=ALLOW_EXTRA,
)


def speech_route(speak: Speak) -> Route:
    """Return the route.

    Args:
        speak: Makes the recording.
    """

    async def answer(call: HttpCall) -> web.StreamResponse:
        from aiohttp import web

        data = await speak(call.body["input"], call.body.get("voice"), None)
        kind, asked = audio_kind(data), call.body.get("response_format")
        if kind is None:
            raise Unavailable("the speech engine made no recording")
        if asked is not None and SUFFIXES.get(asked) != kind.suffix:
            raise InvalidRequest(
                f"response_format: recordings here are {kind.mime_type} (`speech: format:`)",
                details={"param": "response_format"},
            )
        return web.Response(body=data, content_type=kind.mime_type, headers={"Cache-Control": "no-store"})

    return Route("POST", "/v1/audio/speech", answer, DOMAIN, scope=WRITE, body=_BODY, show_error=show_error)
