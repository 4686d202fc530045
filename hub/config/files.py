"""The files of a configuration: read inside the home directory only, within bounds, as UTF-8."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from hashlib import sha256

from hub.config.bounds import FILE_COUNT_LIMIT, FILE_SIZE_LIMIT_BYTES
from hub.core.errors import HubError, LimitExceeded
from hub.security.root import Root

ROOT_FILE = "configuration.yaml"
SECRETS_FILE = "secrets.yaml"
YAML_SUFFIXES = (".yaml", ".yml")
PRIVATE_FOLDER = ".storage"


class FileProblem(HubError):
    """A file cannot be used: the problem, the remedy, and the position if known.

    Args:
        message: The problem.
        hint: What to do.
        line, column: Counted from 0.
        missing: Whether there is no such file.
    """

    code = "CONFIG_FILE"

    def __init__(self, message: str, hint: str = "", *, line: int = 0, column: int = 0, missing: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.line = line
        self.column = column
        self.missing = missing


def content_hash(data: bytes) -> str:
    """Return the hash that identifies a file's content in the editor and the history."""
    return sha256(data).hexdigest()


CONTAINER = "/config/"
"""What the home directory is called in configurations that come from Home Assistant's container."""


def resolve_name(base: str, name: str) -> str:
    """Return the file that `name` in the file `base` refers to, relative to the home directory.

    Raises:
        FileProblem: It is outside the home directory, or among the hub's own files.
    """
    if not name or "\0" in name:
        raise FileProblem("expected the name of a file")
    if name.startswith(CONTAINER):
        base, name = "", name.removeprefix(CONTAINER).lstrip("/") or "."
    if name.startswith(("/", "~")) or "\\" in name:
        raise FileProblem(f"{name} is outside the home directory", "name a file below it, relative to this one")
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(base), name))
    if joined == ".." or joined.startswith("../"):
        raise FileProblem(f"{name} is outside the home directory", "name a file below it, relative to this one")
    if joined.split("/", 1)[0] == PRIVATE_FOLDER:
        raise FileProblem(f"{name} is one of the hub's own files", "keep configuration outside .storage")
    return joined


class HomeFiles:
    """Reads files below the home directory.

    Args:
        root: The jail.
        overrides: Texts that replace files, as an editor shows them.
    """

    def __init__(self, root: Root, overrides: Mapping[str, str] | None = None) -> None:
        self._root = root
        self._overrides = dict(overrides or {})

    def read(self, name: str) -> bytes:
        """Return a file's content.

        Raises:
            FileProblem: It does not exist, cannot be read, or is too large.
        """
        if name in self._overrides:
            return self._overrides[name].encode()
        try:
            return self._root.read_bytes(name, FILE_SIZE_LIMIT_BYTES)
        except FileNotFoundError as error:
            raise FileProblem(f"the file {name} does not exist", missing=True) from error
        except IsADirectoryError as error:
            raise FileProblem(f"{name} is a folder, not a file", "use !include_dir_list or its like") from error
        except LimitExceeded as error:
            limit = FILE_SIZE_LIMIT_BYTES // 1024 // 1024
            raise FileProblem(f"{name} is larger than {limit} MB") from error
        except (OSError, HubError) as error:
            raise FileProblem(f"{name} cannot be read: {_reason(error)}") from error

    def yaml_files(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the YAML files in a folder and its subfolders, sorted, and the folders that were read.

        Hidden files and folders are left out.

        Raises:
            FileProblem: There is no such folder, or it holds too much.
        """
        files: list[str] = []
        folders = [folder]
        for looked, each in enumerate(folders):
            if looked > FILE_COUNT_LIMIT or len(files) > FILE_COUNT_LIMIT:
                raise FileProblem(f"{folder} holds more than {FILE_COUNT_LIMIT} files")
            for name in self._list(each):
                path = posixpath.join(each, name) if each != "." else name
                if name.startswith("."):
                    continue
                if self._is_folder(path):
                    folders.append(path)
                elif name.endswith(YAML_SUFFIXES):
                    files.append(path)
        for name in self._overrides:
            if name not in files and (folder == "." or name.startswith(f"{folder}/")) and name.endswith(YAML_SUFFIXES):
                files.append(name)
        return sorted(files), folders

    def _list(self, folder: str) -> list[str]:
        try:
            return sorted(self._root.listdir(folder))
        except FileNotFoundError as error:
            raise FileProblem(
                f"the folder {folder} does not exist", "make it, or name another", missing=True
            ) from error
        except NotADirectoryError as error:
            raise FileProblem(f"{folder} is a file, not a folder", "use !include") from error
        except (OSError, HubError) as error:
            raise FileProblem(f"{folder} cannot be read: {_reason(error)}") from error

    def _is_folder(self, path: str) -> bool:
        try:
            return self._root.is_dir(path)
        except (OSError, HubError):
            return False


def decode(data: bytes, name: str) -> str:
    """Return the text of a file, without byte order mark and with LF line ends.

    Raises:
        FileProblem: It is not UTF-8; line and column tell where.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileProblem(f"{name} is UTF-16, not UTF-8", "save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        raise FileProblem(
            f"{name} is not UTF-8: the byte 0x{data[error.start]:02X} does not belong there",
            "save it as UTF-8",
            line=line,
            column=column,
        ) from error
    if text.startswith("\ufeff"):
        text = text[1:]
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
