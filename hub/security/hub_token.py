"""The hub token: it has every right, works on loopback only, and is stored in clear in a file of mode 0600.

The environment may give it instead, as in a container: `HOMARUS_TOKEN_FILE` names a file, `HOMARUS_TOKEN` is the token.
Standard library only: the command line reads it before it does anything else.
"""

from __future__ import annotations

import os
import stat
from base64 import urlsafe_b64encode
from pathlib import Path

from hub.core.durable import write_once
from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.core.weak_secrets import refuse_weak

PREFIX = "homhub_"
READ_LIMIT_BYTES = 4_096
TOKEN_VARIABLE, FILE_VARIABLE = "HOMARUS_TOKEN", "HOMARUS_TOKEN_FILE"
CLIENT_PREFIX = "homtok_"
"""Of the tokens that a hub makes for its clients; see `hub/security/tokens.py`."""
_FILE_NAME = "hub_token"


class HubTokenError(HubError):
    """The file of the hub token cannot be trusted or read."""

    code = "HUB_TOKEN"


def hub_token(home: Path | os.PathLike[str] | str) -> Secret:
    """Return the hub token: of the environment, else of a home directory, making it there on first need.

    Two processes that make it at the same time get the same one.

    Raises:
        HubTokenError: The file is not a plain file of this user, or cannot be read or made.
        WeakSecret: It holds something that is not a secret.
    """
    given = environment_token()
    # A shell may have the token for a hub elsewhere (`--url`).
    if given is not None and not given.startswith(CLIENT_PREFIX):
        refuse_weak(given, f"the hub token of {FILE_VARIABLE if FILE_VARIABLE in os.environ else TOKEN_VARIABLE}")
        return Secret(given)
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


def environment_token() -> str | None:
    """Return the token that the environment gives, of this hub or of one elsewhere; None if it gives none.

    Raises:
        HubTokenError: The file that it names cannot be read or holds no token, or both variables are set.
    """
    name, plain = os.environ.get(FILE_VARIABLE), os.environ.get(TOKEN_VARIABLE)
    if name and plain:
        raise HubTokenError(f"{TOKEN_VARIABLE} and {FILE_VARIABLE} are both set; keep one of them")
    if not name:
        return plain or None
    try:
        with Path(name).open("rb") as file:  # of a container's secrets, which belong to root and are read-only
            return _text(file.read(READ_LIMIT_BYTES), f"{FILE_VARIABLE} names {name}, which holds no token")
    except OSError as error:
        raise HubTokenError(f"{FILE_VARIABLE} names {name}, which cannot be read: {error.strerror or error}") from error


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
    return _text(data, f"the hub token {path} is damaged; delete it to have a new one made")


def _text(data: bytes, problem: str) -> str:
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise HubTokenError(problem) from None
    if any(symbol.isspace() or not symbol.isprintable() for symbol in text):
        raise HubTokenError(problem)
    return text


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_once(path, PREFIX.encode() + urlsafe_b64encode(os.urandom(32)).rstrip(b"=") + b"\n")
