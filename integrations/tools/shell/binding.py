"""The binding of a command: the program, its files and its working directory, by descriptor and content.

A `BoundCommand` is made before the owner is asked, and once more before the start: it runs only when both say the same.
It starts exactly what was hashed: a program of the system by the descriptor that was read, anything else, and
every script, as a sealed copy in memory that no process can change.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from hub.core.errors import InvalidRequest, LimitExceeded
from hub.tools.command_line import (
    WrittenCommand,
    candidate_files,
    entered_folders,
    look_alikes,
    run_arguments,
    run_words,
)
from node.rules.system_programs import is_system_program

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for, and the PATH of what is started."""
SHELL = "/bin/sh"
COPY_LIMIT_BYTES = 256 * 1024 * 1024
HASH_LIMIT_BYTES = 256 * 1024 * 1024
"""Files beyond this together are bound by size, time and inode instead of their bytes."""
FILES_LIMIT = 100
WORD_LIMIT = 4_096
READ_LIMIT_BYTES = 262_144
"""Of a script, in which names of files are looked for."""
_WORD = re.compile(rb"[\w.@%+~/\x80-\xff-]+")

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_CHUNK = 1 << 20
_SCRIPTS = frozenset(
    {
        *(".awk", ".bash", ".bat", ".cgi", ".cjs", ".cmd", ".csh", ".ex", ".exs", ".fish", ".groovy", ".jar"),
        *(".js", ".jsx", ".ksh", ".lua", ".mjs", ".mk", ".php", ".pl", ".pm", ".ps1", ".py", ".pyc", ".pyz"),
        *(".r", ".rb", ".scm", ".sed", ".sh", ".so", ".sql", ".tcl", ".ts", ".tsx", ".vim", ".wasm", ".zsh"),
    }
)


@dataclass(slots=True)
class BoundCommand:
    """A command with everything it will use held open; `close` releases it.

    Attributes:
        command: The command as it was written.
        path: The real path of the program.
        digest: SHA-256 of the program.
        system: Whether the program is one that only the system's owner can change.
        workdir: The real path of the working directory.
        place: Device and inode of the working directory.
        files: By word, the SHA-256 of each file that the command names.
        scripts: Whether it runs some file that is not the system's.
        argv: The command line to start; sealed copies are in it by descriptor.
        executable: The program to start, as a path: of the descriptor that was read, or of the sealed copy.
    """

    command: WrittenCommand
    path: str = ""
    digest: str = ""
    system: bool = False
    workdir: str = ""
    place: str = ""
    files: dict[str, str] = field(default_factory=dict)
    scripts: bool = False
    argv: list[str] = field(default_factory=list)
    executable: str = ""
    workdir_fd: int = -1
    _open: list[int] = field(default_factory=list)
    _hashed: int = 0

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """The descriptors that the program inherits."""
        return tuple(each for each in self._open if each != self.workdir_fd)

    def details(self) -> dict[str, Any]:
        """The content that an approval is bound to, for people."""
        command = self.command
        what = {"argv": list(command.words)} if command.words else {"shell": command.text}
        return {
            **what,
            "program": f"{self.path} sha256:{self.digest}",
            "workdir": f"{self.workdir} ({self.place})",
            **({"files": dict(self.files)} if self.files else {}),
            **({"look-alikes": found} if (found := look_alikes(command.text)) else {}),
        }

    def hold(self, descriptor: int) -> int:
        """Keep a descriptor until `close`."""
        self._open.append(descriptor)
        return descriptor

    def close(self) -> None:
        """Release what is held open; a second call does no harm."""
        for each in self._open:
            os.close(each)
        self._open.clear()


def bind(command: WrittenCommand, workdir: str, *, seals: bool = True) -> BoundCommand:
    """Open and hash all that a command uses. Blocks; the caller closes the result.

    Args:
        workdir: An absolute path.
        seals: Whether scripts are run as sealed copies; without, they know where they are.

    Raises:
        InvalidRequest: There is no such program or directory, or it cannot be read.
        LimitExceeded: It is too large to be copied.
    """
    bound = BoundCommand(command)
    try:
        _hold_workdir(bound, workdir)
        _hold_program(bound, seals=seals)
        _hold_files(bound, seals=seals)
    except BaseException:
        bound.close()
        raise
    return bound


def _hold_workdir(bound: BoundCommand, workdir: str) -> None:
    try:
        bound.workdir_fd = bound.hold(os.open(workdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        raise InvalidRequest(f"workdir: {workdir!r:.200} cannot be entered: {error.strerror}") from error
    found = os.fstat(bound.workdir_fd)
    bound.workdir, bound.place = os.readlink(f"/proc/self/fd/{bound.workdir_fd}"), f"{found.st_dev}:{found.st_ino}"


def _hold_program(bound: BoundCommand, *, seals: bool) -> None:
    word = bound.command.words[0] if bound.command.words else SHELL
    source = _find(bound, word)
    real = os.readlink(f"/proc/self/fd/{source}")
    bound.path, bound.system = real, is_system_program(real)
    if seals and (not bound.system or _begins_with(source, b"#!")):
        held, bound.digest = _sealed(bound, source, word)
        os.close(source)
    else:
        held, bound.digest = bound.hold(source), _digest(source)
    bound.executable = f"/proc/self/fd/{held}" if seals else real
    words = bound.command.words
    bound.argv = list(words) if words else ["sh", "-c", bound.command.text]


def _find(bound: BoundCommand, word: str) -> int:
    """Open the program of a name or path, as `execvp` finds it; its PATH never has the working directory."""
    places = [word] if "/" in word else [f"{folder}/{word}" for folder in PATH.split(":")]
    problem = f"there is no program {word!r:.200} in {PATH}"
    for place in places:
        try:
            descriptor = os.open(place, _READ, dir_fd=bound.workdir_fd)
        except FileNotFoundError:
            continue
        except OSError as error:
            problem = f"{place!r:.200} cannot be read: {error.strerror}"
            continue
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and os.access(f"/proc/self/fd/{descriptor}", os.X_OK):
            return descriptor
        os.close(descriptor)
        problem = f"{place!r:.200} is not an executable file"
    raise InvalidRequest(f"command: {problem}")


def _hold_files(bound: BoundCommand, *, seals: bool) -> None:
    """Hash the files that the command names, and replace those that it runs by sealed copies."""
    for word in candidate_files(bound.command):
        descriptor = _open_file(bound, word) if len(word) <= WORD_LIMIT else None
        if descriptor is None:
            continue
        try:
            if len(bound.files) >= FILES_LIMIT:
                raise LimitExceeded(f"command: it names more than {FILES_LIMIT} files; use fewer at once")
            bound.files[word] = _digest_within(bound, descriptor)
        finally:
            os.close(descriptor)
    _hold_read(bound)
    if not seals:
        return
    if not bound.command.words:
        bound.argv[-1] = _with_copies(bound, bound.command.text)
        return
    first = True
    for at, how in run_arguments(bound.command.words):
        word = bound.command.words[at]
        if how == "text":
            bound.argv[at] = _with_copies(bound, word)
            continue
        option, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
        if how == "script" or "/" in value:
            copy = _copy_of(bound, value, at_once=how == "script" and first)
            bound.argv[at] = word if copy is None else f"{option}{equals}{copy}"
            first = first and copy is None


def _hold_read(bound: BoundCommand) -> None:
    """Hash the files that scripts use in turn: what they source, import by path, or start."""
    scripts = [*bound.files] if bound.system else [*bound.files, bound.path]
    for script in scripts:  # grows
        for word in _named_in(bound, script):
            if word in bound.files or len(bound.files) >= FILES_LIMIT or (found := _opened(bound, word)) is None:
                continue
            try:
                if not is_system_program(os.readlink(f"/proc/self/fd/{found}")):
                    bound.files[word] = _digest_within(bound, found)
                    scripts.append(word)
            finally:
                os.close(found)


def _named_in(bound: BoundCommand, script: str) -> list[str]:
    """Return the words of a script that may be files, from the working directory and from its own."""
    descriptor = _opened(bound, script)
    if descriptor is None:
        return []
    try:
        if not _is_run(descriptor, script):
            return []
        bound.scripts = True
        text = b"" if _begins_with(descriptor, b"\x7fELF") else os.pread(descriptor, READ_LIMIT_BYTES, 0)
    finally:
        os.close(descriptor)
    words = dict.fromkeys(each.decode("utf-8", "replace") for each in _WORD.findall(text) if len(each) <= WORD_LIMIT)
    return [name for word in words for name in dict.fromkeys((word, os.path.join(os.path.dirname(script), word)))]


def _opened(bound: BoundCommand, word: str) -> int | None:
    """Open a file as `_open_file` does; None also when it cannot be read."""
    try:
        return _open_file(bound, word)
    except InvalidRequest:
        return None


def _with_copies(bound: BoundCommand, text: str) -> str:
    """Return shell text or code with the files that it runs replaced by sealed copies."""
    for begin, end, read in reversed(run_words(text)):
        if (copy := _copy_of(bound, text[begin:end], at_once=read)) is not None:
            text = f"{text[:begin]}{copy}{text[end:]}"
    return text


def _copy_of(bound: BoundCommand, word: str, *, at_once: bool) -> str | None:
    """Return the path of a sealed copy of a file that a word names in a folder of the command.

    Raises:
        InvalidRequest: It names more than one, so that it is unclear which is run.
    """
    found = dict.fromkeys(os.path.join(place, word) for place in entered_folders(bound.command))
    named = [each for each in found if each in bound.files]
    if len({os.path.normpath(each) for each in named}) > 1:
        raise InvalidRequest(
            f"command: {word!r:.200} is in several folders that the command enters; write its whole path"
        )
    return _sealed_if_run(bound, named[0], at_once=at_once) if named else None


def _sealed_if_run(bound: BoundCommand, word: str, *, at_once: bool) -> str | None:
    """Return the path of a sealed copy of a file; None if programs do not run it."""
    descriptor = _open_file(bound, word)
    if descriptor is None:
        raise InvalidRequest(f"command: {word!r:.200} is gone")
    try:
        if not at_once and not _is_run(descriptor, word):
            return None
        copy, bound.files[word] = _sealed(bound, descriptor, word)
        return f"/proc/self/fd/{copy}"
    finally:
        os.close(descriptor)


def _open_file(bound: BoundCommand, word: str) -> int | None:
    """Open what a word names if it is a plain file; None when there is none."""
    try:
        descriptor = os.open(word, _READ, dir_fd=bound.workdir_fd)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise InvalidRequest(f"command: {word!r:.200} cannot be read") from error
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _is_run(descriptor: int, word: str) -> bool:
    """Whether a file is one that programs run."""
    mode = os.fstat(descriptor).st_mode
    return bool(
        mode & 0o111
        or PurePosixPath(word).suffix.lower() in _SCRIPTS
        or _begins_with(descriptor, b"#!")
        or _begins_with(descriptor, b"\x7fELF")
    )


def _begins_with(descriptor: int, what: bytes) -> bool:
    return os.pread(descriptor, len(what), 0) == what


def _sealed(bound: BoundCommand, source: int, name: str) -> tuple[int, str]:
    """Return a copy in memory that cannot be changed any more, held open, and its SHA-256."""
    if os.fstat(source).st_size > COPY_LIMIT_BYTES:
        raise LimitExceeded(f"command: {name!r:.200} is larger than {COPY_LIMIT_BYTES} bytes, too large to be copied")
    label = PurePosixPath(name).name[:60]
    copy = bound.hold(os.memfd_create(label, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    digest, at = sha256(), 0
    while at <= COPY_LIMIT_BYTES and (chunk := os.pread(source, _CHUNK, at)):
        digest.update(chunk)
        os.write(copy, chunk)
        at += len(chunk)
    os.fchmod(copy, 0o500)
    fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS)
    return copy, digest.hexdigest()


def _digest(descriptor: int) -> str:
    digest, at = sha256(), 0
    while chunk := os.pread(descriptor, _CHUNK, at):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()


def _digest_within(bound: BoundCommand, descriptor: int) -> str:
    found = os.fstat(descriptor)
    bound._hashed += found.st_size
    if bound._hashed <= HASH_LIMIT_BYTES:
        return _digest(descriptor)
    return f"{found.st_size} bytes, inode {found.st_dev}:{found.st_ino}, {found.st_mtime_ns}, {found.st_ctime_ns}"
