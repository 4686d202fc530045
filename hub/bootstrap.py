"""Start and stop of the process: lock, logging, signals, recovery mode and leaving it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub import __version__
from hub.config.seed import seed
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.stages import Stage
from hub.gateway.log_tail import FORMAT, JsonFormatter, LogTail
from hub.hub import Hub
from hub.security.redaction import RedactingFilter, Redactor
from hub.storage.files import remove_unfinished
from hub.storage.homedir import Home, restrict_umask
from hub.storage.instance_lock import AlreadyRunning, InstanceLock
from hub.update.record import EXIT_AGAIN
from web.dashboard import Dashboard

_log = logging.getLogger(__name__)

FILES_WANTED = 8_192
SWITCH_S = 0.001
"""A thread that computes gives way to the event loop after so long: each write to a socket waits for its turn again."""
GC_THRESHOLD = 10_000
"""Objects made and not yet freed before cycles are looked for: the messages of a busy moment hold a few thousand."""
EXIT_OK = 0
EXIT_FAILED = 1
ELSEWHERE = frozenset({"HOME_OWNED", "OWNERSHIP_LOST"})
"""Codes of errors that mean that another hub has the home; this one may be started again, until it is free."""
STOP_LIMIT_S = 9.0
"""After this long the process ends, however far the stop has come."""
LEFTOVERS_LIMIT_S = 1.0
"""How long tasks and threads that outlasted the stop may hold up the end of the process."""


class StartOptions(Struct, frozen=True):
    """The options of the command line.

    Attributes:
        home: The home directory; made when it is not there.
        host: Address to serve, over the configuration's.
        port: Port to serve, over the configuration's.
        verbose: Whether to log more.
        log_format: `text` or `json`, one object a line.
        on_ready: Called with the hub's address and the way to sign in, each time it is ready.
        clock: The clock instead of the real one.
        prepare: Awaited once, with the started hub, before it is announced as ready.
    """

    home: Path
    host: str | None = None
    port: int | None = None
    verbose: bool = False
    log_format: str = "text"
    on_ready: Callable[[Mapping[str, Any]], None] | None = None
    clock: Clock | None = None
    prepare: Callable[[Hub], Awaitable[None]] | None = None


class _Ending(Enum):
    STOP = "stop"
    RESTART = "restart"


def run(options: StartOptions) -> int:
    """Run the hub until it is asked to stop; return the exit code."""
    restrict_umask()
    _allow_files()
    sys.setswitchinterval(SWITCH_S)
    redactor = Redactor()
    log = _set_up_logging(redactor, verbose=options.verbose, as_json=options.log_format == "json")
    home = Home(options.home)
    try:
        home.create()
        lock = InstanceLock(home)
        lock.acquire()
    except AlreadyRunning as error:
        _say(error.message)
        return EXIT_FAILED
    except HubError as error:
        _say(f"The hub cannot start: {error.message}")
        return EXIT_FAILED
    except OSError as error:
        _say(f"The hub cannot start: {error.filename or home}: {error.strerror}")
        return EXIT_FAILED
    deadline = _Deadline()
    try:
        _finish_restore(home)
        for folder in (home.path, home.storage):
            remove_unfinished(folder)
        seed(home)
        code = asyncio.run(_live(options, home, lock, _Environment(redactor, log, deadline)))
    except HubError as error:
        _say(error.message if error.code == "OWNERSHIP_LOST" else f"The hub cannot start: {error.message}")
        if error.code in ELSEWHERE:
            return EXIT_AGAIN
        _note_failure(home, error.message)
        return EXIT_FAILED
    except Exception as error:
        _note_failure(home, f"{type(error).__name__}: {error}")
        raise
    finally:
        lock.release()
        deadline.clear()
    return _start_version() if code is None else code


def _allow_files() -> None:
    """Raise the limit of open files: connections and transcripts together may exceed the default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Deadline:
    """Ends the process when a stop takes too long; what is on disk can bear that at any time."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def set(self, limit_s: float, code: int) -> None:
        """End the process with `code` in `limit_s` seconds, even if something still runs in it."""
        self.clear()
        self._timer = threading.Timer(limit_s, self._end, [code])
        self._timer.daemon = True
        self._timer.start()

    def clear(self) -> None:
        """Cancel the deadline."""
        if self._timer is not None:
            self._timer.cancel()

    @staticmethod
    def _end(code: int) -> None:
        _say("Part of the hub does not stop. Ending the process.")
        os._exit(code)


class _Environment(Struct, frozen=True):
    """The parts that outlive a hub: the redactor, the log, and the deadline of a stop."""

    redactor: Redactor
    log: LogTail
    deadline: _Deadline


async def _live(options: StartOptions, home: Home, lock: InstanceLock, environment: _Environment) -> int | None:
    """Run hubs one after another until a stop is requested; leaving recovery mode starts a new one.

    Returns:
        The exit code; None when another version is to be started.

    Raises:
        HubError: It could not start, or another hub has taken the home over.
    """
    stopping = asyncio.Event()
    lost: list[HubError] = []
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if not stopping.is_set():
            environment.deadline.set(STOP_LIMIT_S, EXIT_FAILED)
        stopping.set()

    def lose(error: HubError) -> None:
        if not stopping.is_set():
            environment.deadline.set(STOP_LIMIT_S, EXIT_AGAIN)
            lost.append(error)
        stopping.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)
    port = options.port
    while True:
        _finish_restore(home)
        if _is_switching(home):
            return None
        hub = Hub(
            home,
            redactor=environment.redactor,
            host=options.host,
            port=port,
            clock=options.clock,
            log=environment.log,
        )
        ending, at = await run_one(hub, lock, stopping, options, stop, lose)
        if lost:
            environment.deadline.set(LEFTOVERS_LIMIT_S, EXIT_AGAIN)
            raise lost[0]
        if ending is _Ending.STOP:
            environment.deadline.set(LEFTOVERS_LIMIT_S, EXIT_OK)
            return EXIT_OK
        # Whoever was connected comes back to where they were, also when the system chose the port.
        port = at if options.port is not None else None
        options = replace(options, prepare=None)
        del hub
        gc.unfreeze()
        gc.collect()


def _finish_restore(home: Home) -> None:
    """Put a restored home into force, when one was decided for; nothing of the home is open yet."""
    if (home.storage / "restore" / "journal.json").exists():
        from hub.backup.swap import finish

        replaced = finish(home)
        _say(f"A restored home is in force. The one from before is kept for a week in {replaced}")


def _is_switching(home: Home) -> bool:
    """Do what an update needs before anything is opened; return whether another version is to be started instead."""
    if sys.argv[1:2] != ["start"] or not (home.storage / "update.json").exists():
        return False
    from hub.update.switch import prepare_start

    return prepare_start(home)


def _note_failure(home: Home, why: str) -> None:
    if (home.storage / "update.json").exists():
        from hub.update.switch import note_failure

        note_failure(home, why)


def _start_version() -> int:
    """Become the version that the home's record names, by way of the environment that all of them stand on."""
    from hub.update.launcher import execute
    from hub.update.record import LAUNCHER, base_environment

    logging.shutdown()
    if os.environ.get(LAUNCHER) == str(os.getppid()):
        return EXIT_AGAIN  # it goes on from the record, so that the next update adds no other process
    python = base_environment() / "bin/python"
    try:
        execute(python, sys.argv[1:])
    except OSError as error:
        _say(f"{python} cannot be started ({error.strerror}); start the hub again by hand.")
        return EXIT_FAILED


async def run_one(
    hub: Hub,
    lock: InstanceLock,
    stopping: asyncio.Event,
    options: StartOptions,
    stop: Callable[[], None],
    lose: Callable[[HubError], None],
) -> tuple[_Ending, int]:
    """Run one hub with its dashboard until it stops or must be replaced; return which, and its port.

    Args:
        lock: Held; it records the hub's address.
        stopping: Set to end it.
        stop: Sets it, for services of the hub.
        lose: Sets it, with the reason, when another hub has taken the home over.
    """
    restart = asyncio.Event()
    dashboard: Dashboard | None = None
    gc.disable()  # building makes next to no garbage, and looking for it costs as much as building

    async def open_dashboard() -> None:
        nonlocal dashboard
        dashboard = Dashboard(hub)

    async def close_dashboard() -> None:
        if dashboard is not None:
            await dashboard.close()

    try:
        stages = [Stage("dashboard", open_dashboard, close_dashboard)]
        await hub.start(on_restart=restart.set, on_stop=stop, on_lost=lose, before_open=stages)
        host, port = hub.gateway.address
        lock.update(host, port, tls=hub.gateway.settings.tls is not None)
        # What was built at start stays; looking through it again at each collection would cost every message.
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        gc.enable()
        if options.prepare is not None:
            await _first_of(options.prepare(hub), stopping.wait())
        if not stopping.is_set():
            await _tell(hub, options)
        await _first_of(stopping.wait(), restart.wait())
    finally:
        gc.enable()
        slow = await hub.stop(restarting=restart.is_set() and not stopping.is_set())
        if slow:
            _log.warning("stopped without waiting for: %s", ", ".join(slow))
    return _Ending.STOP if stopping.is_set() else _Ending.RESTART, port


async def _first_of(*works: Awaitable[object]) -> None:
    """Wait for one, and cancel the others.

    Raises:
        Exception: What one that was done raised.
    """
    waiting = [asyncio.ensure_future(each) for each in works]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()


async def _tell(hub: Hub, options: StartOptions) -> None:
    """Print the dashboard's address; a sign-in code is shown on a terminal only, never in a log."""
    link = await hub.login_link() if options.on_ready is not None or sys.stderr.isatty() else None
    _say(f"\nHomarus {__version__} runs on {hub.home}  (process {os.getpid()})")
    if hub.config.current.recovery:
        _say("RECOVERY MODE: the configuration is broken. Fix it in the dashboard, or see: homarus check")
    else:
        for error in hub.config.errors:
            _say(f"Left out: {error}")
        if hub.config.errors:
            _say("The hub runs without what has errors; see: homarus check")
    if link is not None and sys.stderr.isatty():
        _say(f"Dashboard: {link.url}")
        _say(f"The link signs in once, within {int(link.valid_s // 60)} minutes; or type the code {link.code} there.")
    else:
        _say(f"Dashboard: {hub.gateway.url}")
    _say("A link that signs in: homarus dashboard · talk here: homarus chat · stop: Ctrl+C\n")
    if link is not None and options.on_ready is not None:
        state = "recovery" if hub.config.current.recovery else "running"
        told = {"pid": os.getpid(), "address": hub.gateway.url, "state": state, "url": link.url, "code": link.code}
        options.on_ready(told)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _set_up_logging(redactor: Redactor, *, verbose: bool, as_json: bool) -> LogTail:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(FORMAT))
    handler.addFilter(RedactingFilter(redactor))
    root = logging.getLogger()
    tail = LogTail(redactor)
    root.handlers[:] = [handler, tail]
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    for noisy in ("asyncio", "watchfiles", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return tail
