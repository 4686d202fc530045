"""One hub per home directory, and one per store: the locks it holds, and where the others find it.

Standard library only: the command line reads it before it does anything else.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hub.core.errors import HubError

LOCK_NAME = "hub.lock"
OWNER_SUFFIX = ".owner"
READ_LIMIT_BYTES = 4_096
ATTEMPTS = 20
WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class Running:
    """A running hub.

    Attributes:
        pid: Its process.
        started: Seconds since the epoch.
        host: The host of its gateway; None while it starts.
        port: Its port; None while it starts.
        tls: Whether it speaks HTTPS.
    """

    pid: int
    started: float
    host: str | None = None
    port: int | None = None
    tls: bool = False

    @property
    def address(self) -> str | None:
        """The address a client on this machine connects to, such as `http://127.0.0.1:18789`."""
        if self.port is None:
            return None
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1", None: "127.0.0.1"}.get(self.host)  # noqa: S104
        if host is None:
            host = f"[{self.host}]" if self.host and ":" in self.host and self.host[0] != "[" else str(self.host)
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


class AlreadyRunning(HubError):
    """Another hub runs on this directory."""

    code = "ALREADY_RUNNING"
    http_status = 409

    def __init__(self, home: Path, running: Running | None, what: str = "runs on") -> None:
        if running is None:
            who, details = "another hub", {"home": str(home)}
        else:
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(running.started))
            at = f", at {running.address}" if running.address else ", still starting"
            who = f"another hub (process {running.pid}, since {since}{at})"
            details = {"home": str(home), **asdict(running)}
        super().__init__(
            f"{who} already {what} {home}; stop it first, or start this one with another --config directory",
            details=details,
        )
        self.running = running


class InstanceLock:
    """The lock on a home directory; the system releases it when the process ends, however it ends.

    Args:
        home: The home directory.
    """

    _what = "runs on"

    def __init__(self, home: Path | os.PathLike[str] | str) -> None:
        self.home = Path(home)
        self._path = _lock_path(self.home)
        self._descriptor: int | None = None
        self._running: Running | None = None

    def acquire(self) -> Running:
        """Take the lock.

        Raises:
            AlreadyRunning: Another process has it; the message names its pid, start and address.
            OSError: The lock file cannot be made.
        """
        if self._descriptor is not None and self._running is not None:
            return self._running
        self._make_folder()
        for attempt in range(ATTEMPTS):
            descriptor = self._try_lock()
            if descriptor is not None:
                self._descriptor = descriptor
                return self._write(descriptor, Running(os.getpid(), time.time()))
            running = _read(self._path)
            if running is not None:
                raise AlreadyRunning(self.home, running, self._what)
            if attempt + 1 < ATTEMPTS:
                time.sleep(WAIT_S)  # it was just given up, or its holder has not written who it is yet
        raise AlreadyRunning(self.home, None, self._what)

    def take_over(self) -> Running:
        """Take the lock even if a process holds it: the home is known to be ours, and that one is frozen, or ends.

        Raises:
            OSError: The lock file cannot be made.
        """
        try:
            return self.acquire()
        except AlreadyRunning:
            self._path.unlink(missing_ok=True)  # what it holds is then the lock on a file that nobody finds
            return self.acquire()

    def update(self, host: str, port: int, *, tls: bool = False) -> Running:
        """Record where the gateway listens.

        Raises:
            RuntimeError: The lock is not held.
        """
        if self._running is None or self._descriptor is None:
            raise RuntimeError("the lock is not held")
        return self._write(self._descriptor, replace(self._running, host=host, port=port, tls=tls))

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None
        self._running = None

    def _make_folder(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _try_lock(self) -> int | None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        if _is_same_file(descriptor, self._path):
            return descriptor
        os.close(descriptor)  # the file was deleted and recreated meanwhile: this lock excludes no one
        return None

    def _write(self, descriptor: int, running: Running) -> Running:
        data = json.dumps(asdict(running)).encode()
        # Padded and written at once over the old text, so that a reader never meets half of it.
        os.pwrite(descriptor, data.ljust(256) + b"\n", 0)
        self._running = running
        return running


class StoreLock(InstanceLock):
    """The lock on a database, by whatever path it is reached: two homes may lead to one file.

    Args:
        path: The database.
    """

    _what = "holds"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        real = path.resolve()
        self._path = real.with_name(f"{real.name}{OWNER_SUFFIX}")

    def _make_folder(self) -> None:
        """Do nothing: it is the database's."""

    def release(self) -> None:
        """Release the lock, and leave no file; a second call does nothing."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)  # whoever locked it meanwhile sees that it is another file
        super().release()


def read_running(home: Path | os.PathLike[str] | str) -> Running | None:
    """Return the hub that runs on `home`, or None if there is none or it is just starting.

    A file left by a killed hub means nothing; only a held lock counts.
    """
    return _read(_lock_path(Path(home)))


def _read(path: Path) -> Running | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if not _is_held(descriptor):
            return None
        return _parse(os.read(descriptor, READ_LIMIT_BYTES))
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _parse(data: bytes) -> Running | None:
    try:
        found: Any = json.loads(data)
        pid, started, host, port = found["pid"], found["started"], found.get("host"), found.get("port")
        tls = found.get("tls", False)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not isinstance(pid, int) or not isinstance(started, (int, float)):
        return None
    if not isinstance(host, (str, type(None))) or not isinstance(port, (int, type(None))):
        return None
    return Running(pid, float(started), host, port, tls is True)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        named = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    opened = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def _lock_path(home: Path) -> Path:
    return home.expanduser().absolute() / ".storage" / LOCK_NAME
