"""The binding of a command: its program, files and folder, by their contents. Blocks while it reads."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from .errors import NodeError
from .rules.command_line import (
    INTERPRETERS,
    CommandRefused,
    WrittenCommand,
    program_name,
    read_command,
    refuse_invisible,
)
from .rules.named_files import candidate_files
from .rules.system_programs import is_system_program

SHELL = "/bin/sh"
FILES_LIMIT = 100
FILE_LIMIT_BYTES = 256 * 1024 * 1024
WORDS_LIMIT = 512


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """A command, and all that it uses, as it is now.

    Attributes:
        name: The program's path as it was found; programs with many names depend on it.
        path: The path of the program, without symlinks.
        digest: SHA-256 of the program.
        system: Whether only the machine's owner can change the program.
        cwd: The folder, without symlinks.
        files: By path, the SHA-256 of each file that the command names.
    """

    command: WrittenCommand
    name: str
    path: str
    digest: str
    system: bool
    cwd: str
    files: Mapping[str, str]

    @property
    def argv(self) -> list[str]:
        """The command line to start."""
        words = self.command.words
        return [self.name, *words[1:]] if words else [self.name, "-c", self.command.text]

    def operand(self) -> dict[str, Any]:
        """Return its most changeable part, as the gateway's plans name it: a script, or the program."""
        words = self.command.words
        if words and program_name(words[0]) in INTERPRETERS:
            for at, word in enumerate(words[1:], 1):
                if (path := str(Path(self.cwd, word))) in self.files:
                    return {"argvIndex": at, "path": path, "sha256": self.files[path]}
        return {"argvIndex": 0, "path": self.path, "sha256": self.digest}

    def plan(self) -> dict[str, Any]:
        """Return the binding of an approval."""
        return {
            "argv": self.argv,
            "cwd": self.cwd,
            "commandText": shlex.join(self.argv) if self.command.words else self.command.text,
            "commandPreview": None,
            "mutableFileOperand": self.operand(),
            "programSha256": self.digest,
            "files": dict(self.files),
        }


def read_request(params: Mapping[str, Any]) -> WrittenCommand:
    """Return the command of `system.run`: `command` in words, or `rawCommand` as it is written.

    Raises:
        NodeError: There is none, or it has invisible characters.
    """
    words, raw = params.get("command"), params.get("rawCommand")
    try:
        if isinstance(words, str) or (words is None and isinstance(raw, str)):
            return read_command(words if isinstance(words, str) else str(raw))
        if (
            not isinstance(words, list)
            or not 0 < len(words) <= WORDS_LIMIT
            or not all(isinstance(w, str) for w in words)
        ):
            raise NodeError("INVALID_PARAMS", f"command: expected a list of 1 to {WORDS_LIMIT} texts, or rawCommand")
        for word in words:
            refuse_invisible("command", word)
        return WrittenCommand(shlex.join(words), tuple(words))
    except CommandRefused as error:
        raise NodeError("INVALID_PARAMS", str(error)) from None


def bind(command: WrittenCommand, cwd: str | None) -> BoundProgram:
    """Find and read all that a command uses.

    Raises:
        NodeError: There is no such program or folder, or it cannot be read.
    """
    folder = os.path.realpath(os.path.expanduser(cwd or "~"))
    if not os.path.isabs(os.path.expanduser(cwd or "~")) or not os.path.isdir(folder):
        raise NodeError("INVALID_PARAMS", f"cwd: {cwd!r:.200} is not the whole path of a folder on this node")
    word = command.words[0] if command.words else SHELL
    found = shutil.which(os.path.normpath(os.path.join(folder, word)) if "/" in word else word, path=search_path())
    if found is None:
        raise NodeError("INVALID_PARAMS", f"command: there is no program {word!r:.200} on this node")
    path = os.path.realpath(found)
    files: dict[str, str] = {}
    for each in candidate_files(command):
        whole = os.path.join(folder, each)
        if len(each) < 4_096 and "\0" not in each and os.path.isfile(whole):
            if len(files) >= FILES_LIMIT:
                raise NodeError("INVALID_PARAMS", f"command: it names more than {FILES_LIMIT} files; use fewer at once")
            files[str(Path(folder, each))] = _digest(whole)
    return BoundProgram(command, found, path, _digest(path), is_system_program(path), folder, files)


def search_path() -> str:
    """Return the search path for programs: the absolute entries of PATH."""
    return os.pathsep.join(each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each))


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size > FILE_LIMIT_BYTES:
                return f"{found.st_size} bytes, inode {found.st_dev}:{found.st_ino}, {found.st_mtime_ns}"
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NodeError("INVALID_PARAMS", f"command: {path!r:.200} cannot be read: {error.strerror}") from error
