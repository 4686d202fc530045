"""The hub token: it has every right, works on loopback only, and is stored in clear in a file of mode 0600.

Standard library only: the command line reads it before it does anything else.
"""

from __future__ import annotations

import os
import stat
from base64 import urlsafe_b64encode
from pathlib import Path

from hub.core.durable import write_new
from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.core.weak_secrets import refuse_weak

PREFIX = "homhub_"
READ_LIMIT_BYTES = 4_096
_FILE_NAME = "hub_token"


class HubTokenError(HubError):
    """The file of the hub token cannot be trusted or read."""

    code = "HUB_TOKEN"


def hub_token(home: Path | os.PathLike[str] | str) -> Secret:
    """Return the hub token of a home directory, making it on first need.

    Two processes that make it at the same time get the same one.

    Raises:
        HubTokenError: The file is not a plain file of this user, or cannot be read or made.
        WeakSecret: It holds something that is not a secret.
    """
    path = Path(home).expanduser().absolute() / ".storage" / _FILE_NAME
    try:
        found = _read(path)
        if found is None:
            _make(path)
            found = _read(path)
    except OSError as error:
        raise HubTokenError(f"the hub token {path} cannot be read or made: {error.strerror or error}") from error
    if found is None:
        raise HubTokenError(f"the hub token {path} disappeared while it was being made")
    refuse_weak(found, f"the hub token in {path} (delete the file to have a new one made)")
    return Secret(found)


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise HubTokenError(f"the hub token {path} is not a plain file; move it away")
        if found.st_uid not in (os.geteuid(), 0):
            raise HubTokenError(f"the hub token {path} belongs to another user ({found.st_uid}); move it away")
        if found.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        data = os.read(descriptor, READ_LIMIT_BYTES)
    finally:
        os.close(descriptor)
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise HubTokenError(f"the hub token {path} is damaged; delete it to have a new one made") from None
    if any(symbol.isspace() or not symbol.isprintable() for symbol in text):
        raise HubTokenError(f"the hub token {path} is damaged; delete it to have a new one made")
    return text


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{_FILE_NAME}.{os.urandom(8).hex()}.tmp")
    try:
        write_new(temporary, PREFIX.encode() + urlsafe_b64encode(os.urandom(32)).rstrip(b"=") + b"\n")
        try:
            os.link(temporary, path)  # appears whole, and never over another's
        except FileExistsError:
            return
        except OSError:
            if path.exists():
                return
            os.rename(temporary, path)  # a file system without hard links
            return
    finally:
        temporary.unlink(missing_ok=True)
