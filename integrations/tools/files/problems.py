"""Errors about files, worded to help fix the call."""

from __future__ import annotations

import difflib
import errno

from hub.core.errors import Conflict, Forbidden, HubError, InvalidRequest, NotFound, Unavailable
from hub.security.root import Root


def explain(error: OSError, path: str, root: Root) -> HubError:
    """Return an error of the disk as one that a model can act on."""
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"there is no file {path}{_neighbours(path, root)}", details={"path": path})
        case errno.EISDIR:
            return InvalidRequest(f"{path} is a directory; use ls", details={"path": path})
        case errno.ENOTDIR:
            return InvalidRequest(f"a part of {path} is a file, not a directory", details={"path": path})
        case errno.EEXIST:
            return Conflict(f"{path} exists already", details={"path": path})
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Forbidden(f"the system denies the hub access to {path}", details={"path": path})
        case errno.ENOSPC | errno.EDQUOT:
            return Unavailable("the disk is full")
    return Unavailable(f"{path}: {error.strerror}", details={"path": path})


def _neighbours(path: str, root: Root) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        names = root.listdir(folder or ".")
    except (OSError, HubError):
        return ""
    close = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=3)
    found = [each for each in names if each.lower() in close]
    return f"; did you mean {' or '.join(f'{folder}/{each}'.lstrip('/') for each in found)}?" if found else ""
