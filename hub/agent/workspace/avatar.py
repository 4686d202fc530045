"""The picture of an agent: a small image in its workspace."""

from __future__ import annotations

from pathlib import Path

from hub.core.errors import InvalidRequest, NotFound
from hub.models.images import image_type
from hub.security.root import Root

AVATAR_LIMIT_BYTES = 1_048_576


def read_avatar(workspace: Path, name: str) -> tuple[str, bytes]:
    """Return the MIME type and the bytes of a picture.

    Args:
        workspace: The agent's.
        name: The file, relative to it.

    Raises:
        NotFound: There is no such file.
        PathRefused: It is outside of the workspace.
        LimitExceeded: It is too large.
        InvalidRequest: It is not a picture.
    """
    try:
        data = Root(workspace).read_bytes(name, AVATAR_LIMIT_BYTES)
    except OSError as error:
        raise NotFound(f"there is no picture {name} in {workspace}") from error
    mime_type = image_type(data)
    if mime_type is None:
        raise InvalidRequest(f"{name} is not a picture; expected a PNG, JPEG, GIF or WebP file")
    return mime_type, data
