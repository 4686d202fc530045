"""Unix sockets: one for the processes of the hub's own user, without a token; and one for a trusted proxy."""

from __future__ import annotations

import asyncio
import errno
import grp
import os
import socket
import struct
from pathlib import Path

PATH_LIMIT_BYTES = 107
"""The longest path that the system binds; a home with a longer one is reached over TCP alone."""
_CREDENTIALS = struct.Struct("3i")


def listen(path: Path) -> socket.socket | None:
    """Return a listening socket of mode 0600 in a folder of mode 0700, or None where the path is too long.

    Raises:
        OSError: It cannot be made.
    """
    if len(os.fsencode(path)) > PATH_LIMIT_BYTES:
        return None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    return _bound(path, None)


def listen_for_proxy(path: Path, group: str | None) -> socket.socket:
    """Return a listening socket of mode 0600 in a folder that exists; with a group, of mode 0660 and that group's.

    Raises:
        OSError: It cannot be made.
    """
    if path.exists() and not path.is_socket():
        raise FileExistsError(errno.EEXIST, "a file that is not a socket is in its place")
    return _bound(path, None if group is None else group_id(group))


def group_id(name: str) -> int | None:
    """Return the number of a group of the system, or None when there is none with that name."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def _bound(path: Path, group: int | None) -> socket.socket:
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))
        path.chmod(0o600)
        if group is not None:
            os.chown(path, -1, group)
            path.chmod(0o660)
    except OSError:
        made.close()
        raise
    return made


def is_unix(transport: asyncio.BaseTransport) -> bool:
    """Whether a connection came over a Unix socket."""
    found = transport.get_extra_info("socket")
    return found is not None and found.family == socket.AF_UNIX


def is_own_user(transport: asyncio.BaseTransport) -> bool:
    """Whether the process at the other end belongs to the hub's user, or to root."""
    found = transport.get_extra_info("socket")
    _, uid, _ = _CREDENTIALS.unpack(found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return uid in (os.geteuid(), 0)
