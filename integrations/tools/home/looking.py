"""A camera's picture for an agent: the owner is asked each time, since a model that is elsewhere gets it too."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence

import orjson

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.entities.entities import HomeEntities
from hub.models.contract import Image
from hub.models.images import image_type
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.home.verbs import LOOK

Keep = Callable[[ToolCall, bytes, str], Awaitable[str]]
"""Keeps a file with the attachments of a conversation, given its ending; returns its path in the workspace."""
AT_ONCE = 4
SHOWN_LIMIT_BYTES = 5_000_000
"""Larger pictures are kept as a file alone."""


async def look(call: ToolCall, entities: HomeEntities, ids: Sequence[str], keep: Keep) -> ToolResult:
    """Return the pictures of cameras, each also kept as a file.

    Raises:
        InvalidRequest: They are too many, or one has no picture.
        HubError: A camera gave none.
    """
    if len(ids) > AT_ONCE:
        raise InvalidRequest(f"name at most {AT_ONCE} cameras at once, of {', '.join(ids)}")
    shown, media = [], []
    for each in ids:
        handle = entities.get(each)
        if handle is None or handle.picture is None:
            raise InvalidRequest(phrase("{entity} has no picture", entity=each))
        taken = await handle.picture()
        mime_type = image_type(taken.data)
        if mime_type is None:
            raise InvalidRequest(f"{each} sent something that is no picture", outside=True)
        path = await keep(call, taken.data, f".{mime_type.partition('/')[2].replace('jpeg', 'jpg')}")
        shown.append({"entity_id": each, "file": path})
        if len(taken.data) <= SHOWN_LIMIT_BYTES:
            media.append(Image(mime_type, base64.b64encode(taken.data).decode()))
    details = {"done": LOOK, "entities": list(ids), "files": [each["file"] for each in shown]}
    return ToolResult(orjson.dumps({"pictures": shown}).decode(), details, tuple(media), trusted=False)
