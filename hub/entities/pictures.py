"""Pictures and films of entities: what cameras see, and what players show. Taken when somebody asks, and never kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

PICTURE_LIMIT_BYTES = 10_000_000
FILM_LIMIT_BYTES = 100_000_000
EVENT_KEPT = "picture_kept"
"""Fired once a picture or a film is a file: `file` in `media` or `www`, or in the workspace of the agent `agent_id`."""
PATHS = {"camera": "/api/camera_proxy", "image": "/api/image_proxy", "media_player": "/api/media_player_proxy"}
"""Where the gateway serves the pictures of each domain, as Home Assistant does."""


class Picture(Struct, frozen=True):
    """A picture or a film.

    Attributes:
        mime_type: Such as image/jpeg.
    """

    data: bytes
    mime_type: str


TakePicture = Callable[[], Awaitable[Picture]]
"""Returns what can be seen now; raises `HubError` when nothing can."""
Film = Callable[[float], Awaitable[Picture]]
"""Returns a film of so many seconds; raises `HubError` when none can be made."""


def picture_path(entity_id: str) -> str | None:
    """Return the path of an entity's picture at the gateway; None for a domain without pictures."""
    base = PATHS.get(entity_id.partition(".")[0])
    return None if base is None else f"{base}/{entity_id}"
