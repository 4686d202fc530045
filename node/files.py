"""`dir.list`, `file.stat`, `file.fetch` and `file.write`, below the one folder that this node shares."""

from __future__ import annotations

import asyncio
import base64
import binascii
import mimetypes
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

from .errors import NodeError
from .parameters import Params, flag, number, text

FETCH_BYTES = 8 * 1024 * 1024
FETCH_LIMIT_BYTES = 12 * 1024 * 1024
ENTRIES_LIMIT = 1_000


class SharedFiles:
    """The commands about files.

    Args:
        root: The folder; a path is relative to it, or a whole path below it. No symlink leads out of it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def list(self, params: Params) -> dict[str, Any]:
        """Answer with the entries of a folder."""
        return await asyncio.to_thread(self._list, params)

    async def stat(self, params: Params) -> dict[str, Any]:
        """Answer with the facts of a file."""
        return {"ok": True, **_entry(self._path(params))}

    async def fetch(self, params: Params) -> dict[str, Any]:
        """Answer with a file's bytes."""
        return await asyncio.to_thread(self._fetch, params)

    async def write(self, params: Params) -> dict[str, Any]:
        """Write a file, whole or not at all."""
        return await asyncio.to_thread(self._write, params)

    def _path(self, params: Params) -> Path:
        """Return the real path that the parameters name.

        Raises:
            NodeError: It is outside the shared folder.
        """
        said = text(params, "path", limit=4_096)
        try:
            path = Path(self._root, said).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise NodeError("INVALID_PARAMS", f"path: {said!r:.200} is not a path") from error
        if not path.is_relative_to(self._root):
            raise NodeError(
                "PATH_NOT_ALLOWED", f"path: {said!r:.200} is not below {self._root}, which this node shares"
            )
        return path

    def _list(self, params: Params) -> dict[str, Any]:
        folder = self._path({"path": ".", **params})
        most = int(number(params, "maxEntries", 200, 1, ENTRIES_LIMIT))
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            raise _failed(folder, error) from error
        entries = [_entry(folder / name) for name in names[:most] if not (folder / name).is_symlink()]
        return {"ok": True, "path": str(folder), "entries": entries, "truncated": len(names) > most}

    def _fetch(self, params: Params) -> dict[str, Any]:
        path = self._path(params)
        most = int(number(params, "maxBytes", FETCH_BYTES, 1, FETCH_LIMIT_BYTES))
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise NodeError("INVALID_PARAMS", f"path: {path} is not a file")
                data = file.read(most + 1)
        except OSError as error:
            raise _failed(path, error) from error
        if len(data) > most:
            raise NodeError("FILE_TOO_LARGE", f"{path} is larger than {most} bytes")
        return {
            "ok": True,
            **_entry(path),
            "base64": base64.b64encode(data).decode(),
            "sha256": sha256(data).hexdigest(),
        }

    def _write(self, params: Params) -> dict[str, Any]:
        path = self._path(params)
        try:
            data = base64.b64decode(text(params, "contentBase64", limit=2 * FETCH_LIMIT_BYTES), validate=True)
        except binascii.Error as error:
            raise NodeError("INVALID_PARAMS", "contentBase64: expected base64") from error
        if path == self._root or path.is_dir():
            raise NodeError("INVALID_PARAMS", f"path: {path} is a folder")
        overwrites = path.exists()
        if overwrites and not flag(params, "overwrite"):
            raise NodeError("FILE_EXISTS", f"{path} exists; set overwrite: true to replace it")
        new = path.with_name(f".{path.name[:200]}.new")
        try:
            if flag(params, "createParents"):
                path.parent.mkdir(parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            new.replace(path)
        except OSError as error:
            raise _failed(path, error) from error
        return {
            "ok": True,
            "path": str(path),
            "size": len(data),
            "sha256": sha256(data).hexdigest(),
            "overwritten": overwrites,
        }


def _entry(path: Path) -> dict[str, Any]:
    try:
        found = path.lstat()
    except OSError as error:
        raise _failed(path, error) from error
    return {
        "path": str(path),
        "name": path.name,
        "size": found.st_size,
        "isDir": stat.S_ISDIR(found.st_mode),
        "mtime": int(found.st_mtime * 1000),
        "mimeType": mimetypes.guess_type(path.name)[0] or "application/octet-stream",
    }


def _failed(path: Path, error: OSError) -> NodeError:
    code = "NOT_FOUND" if isinstance(error, FileNotFoundError) else "UNAVAILABLE"
    return NodeError(code, f"{path}: {error.strerror}")
