"""A process that has imported the hub once and forks the hubs, commands and children that tests start.

Run as `python -m tests.servers.fork_server SOCKET`; `tests/servers/forked.py` starts one per test process. It has one
thread and no event loop, so what it forks begins as a new process does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

REPOSITORY = Path(__file__).parents[2]
LATER = ("hub", "web", "integrations/models/offline", "integrations/models/openai_compatible", "integrations/tools")
THEIRS_LATER = ("argon2", "astral.sun", "croniter", "hassil", "jinja2.ext", "markdown_it", "nh3", "questionary")
NOT_LATER = ("__main__", "__init__", "tui_app")
"""What is run rather than imported, and the terminal's interface, which no hub has: it takes a sixth of the time."""
REQUEST_BYTES = 256 * 1024


def main() -> None:
    """Import the hub, then fork until the test process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    _import([*_modules_of_later(), *THEIRS_LATER])
    _import(_modules_of_a_hub())
    _work_out_what_each_would()
    gc.collect()
    gc.freeze()
    program = ForkServer(control).serve()
    if program is not None:
        _run(program)


class ForkServer:
    """Forks on request and reports how each process ended.

    A request is one message on `control`: JSON, with the file descriptors stdin, stdout, stderr and a socket that
    is sent the process id at once and the return code at the end.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reports: dict[int, socket.socket] = {}
        self._ended, self._wake = socket.socketpair()

    def serve(self) -> dict[str, Any] | None:
        """Serve until `control` is closed; return the request in each forked process, and None in the server."""
        self._wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._ended:
                        self._report()
                        continue
                    message, descriptors, _, _ = socket.recv_fds(self._control, REQUEST_BYTES, 4)
                    if not message or self._fork(descriptors):
                        return json.loads(message) if message else None

    def _fork(self, descriptors: Sequence[int]) -> bool:
        """Fork; return whether this is the new process."""
        *stdio, report = descriptors
        pid = os.fork()
        if pid == 0:
            self._leave(stdio)
            os.close(report)
            return True
        for each in stdio:
            os.close(each)
        self._reports[pid] = socket.socket(fileno=report)
        self._tell(pid, pid)
        return False

    def _leave(self, stdio: Sequence[int]) -> None:
        """Give up what is the server's, and take the standard streams."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for each in (self._control, self._ended, self._wake, *self._reports.values()):
            each.close()
        for number, descriptor in enumerate(stdio):
            os.dup2(descriptor, number)
            os.close(descriptor)

    def _report(self) -> None:
        self._ended.recv(4096)
        while self._reports:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._tell(pid, os.waitstatus_to_exitcode(status))
            self._reports.pop(pid).close()

    def _tell(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # the test that asked is over
            self._reports[pid].sendall(f"{number}\n".encode())


def _work_out_what_each_would() -> None:
    """Have the manifests checked and the empty databases made, which are kept: each hub would take 30 ms for them."""
    from hub.integration.catalog import find
    from hub.storage.damage import make_new
    from hub.storage.history_schema import HISTORY_MIGRATIONS
    from hub.storage.migrations import HUB_MIGRATIONS

    find(None)
    with tempfile.TemporaryDirectory() as folder:
        for name, migrations in {"hub": HUB_MIGRATIONS, "history": HISTORY_MIGRATIONS}.items():
            make_new(Path(folder) / name, migrations)


def _run(program: Mapping[str, Any]) -> None:
    """Run a module in a forked process as `python -m` does."""
    os.environ.clear()
    os.environ.update(program["environment"])
    time.tzset()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = [program["module"], *program["arguments"]]
    code: object = 0
    try:
        runpy.run_module(program["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except Exception:
        sys.excepthook(*sys.exc_info())
        code = 1
    _exit(code)


def _exit(code: object) -> NoReturn:
    """End as Python does, but for taking apart all that was imported: it copies the memory, in ten times a fork."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # who reads is gone
            stream.flush()
    os._exit((code or 0) & 0xFF)


def _import(names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):  # compiled packages have names that only they can import
            import_module(name)


def _modules_of_a_hub() -> list[str]:
    """Start a hub in a process of its own and return what it has loaded once it is ready."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        _rehearse(write)
    os.close(write)
    with open(read) as told:
        modules = told.read().split()
    os.waitpid(pid, 0)
    return modules


def _modules_of_later() -> list[str]:
    """Return what a hub loads with the first page, question or automation: ours, which bring what they need along."""
    return [
        name
        for folder in LATER
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        if not (name := ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)).endswith(NOT_LATER)
    ]


def _rehearse(write: int) -> None:
    import hub.cli.start  # noqa: F401
    from hub.bootstrap import StartOptions, run

    def tell(_: Mapping[str, Any]) -> None:
        names = [name for name in sys.modules if not name.startswith("__")]
        os.write(write, " ".join(names).encode())
        os.kill(os.getpid(), signal.SIGTERM)

    with tempfile.TemporaryDirectory() as folder:
        run(StartOptions(home=Path(folder) / "home", port=0, on_ready=tell))
        os._exit(0)


if __name__ == "__main__":
    main()
