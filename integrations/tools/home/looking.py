"""A camera's picture for an agent: the owner is asked each time, since a model that is elsewhere gets it too."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Optional, Range, Schema, describe_error, number
from hub.entities.entities import HomeEntities
from hub.entities.pictures import TakePicture
from hub.models.contract import Image
from hub.models.images import image_type
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.home.verbs import LOOK

Keep = Callable[[ToolCall, bytes, str], Awaitable[str]]
"""Keeps a file with the attachments of a conversation, given its ending; returns its path in the workspace."""
AT_ONCE = 4
FILM = Schema({Optional("duration"): All(number, Range(min=1, max=60))})
SHOWN_LIMIT_BYTES = 5_000_000
"""Larger pictures are kept as a file alone."""


async def look(
    call: ToolCall, entities: HomeEntities, ids: Sequence[str], keep: Keep, values: Mapping[str, Any]
) -> ToolResult:
    """Return the pictures of cameras, each also kept as a file.

    Args:
        values: `duration` is how many seconds to film: the film is kept as a file, with a picture from before it and
            one from after it.

    Raises:
        InvalidRequest: They are too many, or one has no picture or cannot be filmed.
        HubError: A camera gave none.
    """
    try:
        seconds = FILM(dict(values)).get("duration")
    except Invalid as error:
        raise InvalidRequest(f"look: {describe_error(error)}") from None
    if len(ids) > (AT_ONCE if seconds is None else 1):
        raise InvalidRequest(f"name at most {AT_ONCE} cameras at once, and one to film, of {', '.join(ids)}")
    shown, media = [], []

    async def take(each: str, picture: TakePicture) -> None:
        taken = await picture()
        mime_type = image_type(taken.data)
        if mime_type is None:
            raise InvalidRequest(f"{each} sent something that is no picture", outside=True)
        path = await keep(call, taken.data, f".{mime_type.partition('/')[2].replace('jpeg', 'jpg')}")
        shown.append({"entity_id": each, "file": path})
        if len(taken.data) <= SHOWN_LIMIT_BYTES:
            media.append(Image(mime_type, base64.b64encode(taken.data).decode()))

    for each in ids:
        handle = entities.get(each)
        if handle is None or handle.picture is None:
            raise InvalidRequest(phrase("{entity} has no picture", entity=each))
        await take(each, handle.picture)
        if seconds is None:
            continue
        if handle.film is None:
            raise InvalidRequest(
                phrase("{entity} has no stream that could be recorded; it has single pictures", entity=each)
            )
        film = await handle.film(seconds)
        path = await keep(call, film.data, mimetypes.guess_extension(film.mime_type) or ".mp4")
        shown.append({"entity_id": each, "film": path, "seconds": f"{seconds:g}"})
        await take(each, handle.picture)
    files = [each.get("file") or each["film"] for each in shown]
    details = {"done": LOOK, "entities": list(ids), "files": files}
    return ToolResult(orjson.dumps({"pictures": shown}).decode(), details, tuple(media), trusted=False)
