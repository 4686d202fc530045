"""Pictures of entities at `/api/camera_proxy/<entity>` and its like, and the files of the folders `media` and `www`.

They are for those who may read, and for whoever has a signed address.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hub.core.errors import HubError, NotFound
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.surfaces import READ, HttpCall, HttpHandler, Route
from hub.entities.entities import HomeEntities
from hub.entities.media_files import FOLDERS, MediaFiles
from hub.entities.pictures import FILM_LIMIT_BYTES, PATHS

if TYPE_CHECKING:
    from aiohttp import web

OWNER = "entities"
SHOWN_TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif", "audio/", "video/")
"""Others may hold scripts, and are served as bytes."""


def picture_routes(entities: HomeEntities, files: MediaFiles) -> Iterable[Route]:
    """Return the routes."""
    handlers = {f"{path}/{{entity_id}}": _of_entities(entities, domain) for domain, path in PATHS.items()}
    handlers |= {f"{path}/{{path:*}}": _of_folder(files, folder) for folder, path in FOLDERS.items()}
    return [
        Route("GET", path, handler, OWNER, scope=READ, cookie=True, signable=True) for path, handler in handlers.items()
    ]


def _of_entities(entities: HomeEntities, domain: str) -> HttpHandler:
    async def serve(call: HttpCall) -> web.StreamResponse:
        entity_id = call.params["entity_id"]
        handle = entities.get(entity_id) if entity_id.startswith(f"{domain}.") else None
        if handle is None or handle.picture is None:
            raise NotFound(phrase("{entity} has no picture", entity=entity_id[:200]))
        found = await handle.picture()
        return _response(found.data, found.mime_type)

    return serve


def _of_folder(files: MediaFiles, folder: str) -> HttpHandler:
    async def serve(call: HttpCall) -> web.StreamResponse:
        path = call.params["path"]
        try:
            data = await FILES.run(files.root(folder).read_bytes, path, FILM_LIMIT_BYTES)
        except (OSError, HubError) as error:
            raise NotFound(phrase("there is no file {path}", path=f"{folder}/{path[:200]}")) from error
        return _response(data, mimetypes.guess_type(path)[0] or "")

    return serve


def _response(data: bytes, mime_type: str) -> web.StreamResponse:
    from aiohttp import web

    shown = mime_type if mime_type.startswith(SHOWN_TYPES) else "application/octet-stream"
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=data, content_type=shown, headers=headers)
