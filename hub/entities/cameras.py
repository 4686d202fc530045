"""The services of cameras that the hub does itself: a picture or a film is kept as a file of the home."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

from hub.core.errors import InvalidRequest, Unavailable
from hub.core.events import EventBus
from hub.core.phrases import phrase
from hub.entities.entities import EntityHandle
from hub.entities.media_files import MediaFiles
from hub.entities.pictures import EVENT_KEPT, Picture


class CameraServices:
    """The services.

    Args:
        home: The folder of the home.
        bus: Hears what was kept.
    """

    def __init__(self, home: Path, bus: EventBus) -> None:
        self._files, self._bus = MediaFiles(home), bus

    async def snapshot(self, handle: EntityHandle, data: Mapping[str, Any]) -> None:
        """Keep a picture as a file; raise `HubError` if there is none, or the name is not in a folder for it."""
        self._files.place(data["filename"])
        await self._keep(data["filename"], handle, picture_of(handle))

    async def record(self, handle: EntityHandle, data: Mapping[str, Any]) -> None:
        """Keep a film as a file; raise `HubError` if there is none, or the name is not in a folder for it."""
        self._files.place(data["filename"])
        if handle.film is None:
            raise InvalidRequest(
                phrase("{entity} has no stream that could be recorded; it has single pictures", entity=handle.entity_id)
            )
        await self._keep(data["filename"], handle, handle.film(data["duration"]))

    async def play_stream(self, handle: EntityHandle, data: Mapping[str, Any]) -> None:
        """Raise `InvalidRequest`, which says why."""
        raise InvalidRequest(
            phrase(
                "camera.play_stream is not done here: the hub serves pictures of cameras, no streams. "
                "media_player.play_media plays the camera's own address on a player that can"
            )
        )

    async def _keep(self, name: str, handle: EntityHandle, taking: Awaitable[Picture]) -> None:
        cause = handle.cause
        taken = await taking
        try:
            await self._files.write(name, taken.data)
        except OSError as error:
            raise Unavailable(phrase("{name} could not be written: {error}", name=name, error=str(error))) from error
        told = {"file": "/".join(self._files.place(name)), "entity_id": handle.entity_id}
        self._bus.fire(EVENT_KEPT, told, cause)


async def picture_of(handle: EntityHandle) -> Picture:
    """Return the picture of an entity.

    Raises:
        InvalidRequest: It has none.
        HubError: None could be taken.
    """
    if handle.picture is None:
        raise InvalidRequest(phrase("{entity} has no picture", entity=handle.entity_id))
    return await handle.picture()
