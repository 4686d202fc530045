"""`POST /v1/audio/transcriptions`: the text of a recording, by the model that transcribes voice messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from aiohttp import web

from hub.core.errors import InvalidRequest
from hub.core.surfaces import WRITE, HttpCall, Route
from hub.gateway.connection.server import json_response
from hub.gateway.http_api.openai_shapes import BODY_LIMIT_BYTES, show_error
from hub.models.transcription import Transcribe

FORMS = ("json", "text")
NAME_CHARS = 100
LANGUAGE_CHARS = 20
_BOUNDARY = re.compile(r'multipart/form-data\s*;.*boundary="?([^";,]{1,70})"?', re.IGNORECASE)
_FIELD = re.compile(rb'[;\s]name="?([^";\r\n]*)"?', re.IGNORECASE)
_FILE = re.compile(rb'filename="?([^";\r\n]*)"?', re.IGNORECASE)


class Transcriptions:
    """Turns recordings into text.

    Args:
        transcriber: Returns what transcribes; None when nothing is configured.
    """

    def __init__(self, transcriber: Callable[[], Transcribe | None]) -> None:
        self._transcriber = transcriber

    def routes(self) -> list[Route]:
        """Return the route."""
        path = "/v1/audio/transcriptions"
        return [
            Route(
                "POST",
                path,
                self.transcribe,
                "gateway",
                scope=WRITE,
                body_limit=BODY_LIMIT_BYTES,
                show_error=show_error,
            )
        ]

    async def transcribe(self, call: HttpCall) -> web.StreamResponse:
        """Answer with the text.

        Raises:
            InvalidRequest: No transcriber is configured, there is no recording, or another form of answer is
                requested.
        """
        transcribe = self._transcriber()
        if transcribe is None:
            raise InvalidRequest("nothing here transcribes: set `voice:`, or `messages: media: transcription_model:`")
        form = read_form_data(call.request.headers.get("Content-Type", ""), call.body)
        name, data = form.get("file", ("", b""))
        if not data:
            raise InvalidRequest("file: expected a recording", details={"param": "file"})
        asked = form.get("response_format", ("", b"json"))[1].decode("ascii", "replace")
        if asked not in FORMS:
            raise InvalidRequest(
                f"response_format: expected {' or '.join(FORMS)}", details={"param": "response_format"}
            )
        language = form.get("language", ("", b""))[1].decode("ascii", "replace")[:LANGUAGE_CHARS] or None
        text = (await transcribe(data, name[-NAME_CHARS:] or "recording", language)).strip()
        if asked == "text":
            return web.Response(text=text, headers={"Cache-Control": "no-store"})
        return json_response({"text": text})


def read_form_data(content_type: str, body: bytes) -> Mapping[str, tuple[str, bytes]]:
    """Return the fields of a form: name → file name and content.

    Raises:
        InvalidRequest: It is not a form (RFC 7578).
    """
    boundary = _BOUNDARY.match(content_type)
    if boundary is None:
        raise InvalidRequest("expected a form (multipart/form-data) with the recording as `file`")
    fields: dict[str, tuple[str, bytes]] = {}
    mark = b"--" + boundary[1].encode("latin-1")
    for part in (b"\r\n" + body).split(b"\r\n" + mark)[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        disposition = next(
            (line for line in head.split(b"\r\n") if line.lower().startswith(b"content-disposition")), b""
        )
        if (named := _FIELD.search(disposition)) is not None:
            file = _FILE.search(disposition)
            fields[named[1].decode("utf-8", "replace")] = (
                re.sub(r"[^\w.-]", "_", file[1].decode("utf-8", "replace")) if file is not None else "",
                content,
            )
    return fields
