"""A worker: one process that carries many homes, each a hub with its folder, of those that PostgreSQL keeps."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.cluster.carrier import HOMES_LIMIT, IDLE_S, Carrier
from hub.cluster.directory import Directory
from hub.cluster.front import FrontDoor, FrontSettings
from hub.cluster.lease import WorkerLease
from hub.cluster.log import FORMAT, NO_HOME, HomeLogs, within
from hub.cluster.membership import ANSWER_LIMIT_S, Membership
from hub.cluster.metrics import metrics_text
from hub.cluster.naming import HomeNames
from hub.cluster.policy import hide_environment, policy_checks, refuse
from hub.core.clock import Clock
from hub.core.durable import write_once
from hub.core.errors import NotFound
from hub.core.lanes import MAIN, Lanes
from hub.core.secret import Secret
from hub.core.stages import Stage
from hub.core.tasks import TaskOwner
from hub.foundation import Share
from hub.gateway.calls.settings import Network
from hub.gateway.http_api.exposition import CONTENT_TYPE
from hub.gateway.log_tail import JsonFormatter
from hub.hub import Hub
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.security.redaction import Redactor
from hub.storage.errors import from_os
from hub.storage.files import remove_unfinished
from hub.storage.homedir import Home, WorkerPlace, restrict_umask
from hub.storage.instance_lock import InstanceLock, read_running
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.homes import HomeRow
from hub.storage.postgresql.session import Target
from web.dashboard import Dashboard

_log = logging.getLogger(__name__)

RUNS_LIMIT = 1_000
SECRET_FILE = ".worker_secret"  # noqa: S105  where it lies
"""In the folder of all homes: what workers show one another."""
GC_THRESHOLD = 10_000
"""As for a hub on its own."""
EXIT_OK, EXIT_FAILED = 0, 1
PASSIVE = ("model", "memory", "sandbox")
"""Integrations of these kinds do nothing that is not asked of them."""


class WorkerOptions(Struct, frozen=True):
    """The options of the command line.

    Attributes:
        homes: The folder of the homes' folders, which all workers share.
        database: The address of the PostgreSQL database.
        host, port: Where clients are served.
        url: Where the other workers reach that.
        name: The worker's name, the same after each start.
        run: A folder on this machine with a short path; one of its own in there, for its sockets, is made.
        domains: Each home is at `NAME.DOMAIN`.
        tls: Certificate and key files.
        authority: What the certificates of other workers are checked with.
        trusted_proxies: Networks whose forwarded headers count.
        metrics: Host and port where its metrics are served, without a token.
        homes_limit: How many homes are open at most.
        idle_s: After how long a home that nobody uses is closed.
        on_ready: Called with the address once it serves.
    """

    homes: Path
    database: str
    host: str
    port: int
    url: str
    name: str
    run: Path
    domains: frozenset[str] = frozenset()
    tls: tuple[Path, Path] | None = None
    authority: Path | None = None
    trusted_proxies: tuple[Network, ...] = ()
    metrics: tuple[str, int] | None = None
    homes_limit: int = HOMES_LIMIT
    idle_s: float = IDLE_S
    verbose: bool = False
    log_format: str = "text"
    on_ready: Callable[[str], None] | None = None


class RunningHome:
    """A hub that runs in this process beside others."""

    def __init__(self, hub: Hub, place: WorkerPlace, listens: tuple[str, int], end: Callable[[], None]) -> None:
        self._hub = hub
        self._place = place
        self._listens = listens
        self._lock = InstanceLock(hub.home)
        self._end = end
        self._dashboard: Dashboard | None = None

    @property
    def address(self) -> str:
        """Where it serves the front door."""
        return f"unix:{self._place.socket}"

    @property
    def runs(self) -> int:
        """How many runs are under way or wait for their turn."""
        return len(self._hub.runner.active())

    @property
    def stays(self) -> bool:
        """Whether it has clients, something under way, or an integration that only an open home hears."""
        hub = self._hub
        if hub.gateway.connections or hub.is_busy:
            return True
        if hub.recovery:
            return False
        catalog, present = hub.integrations.catalog, hub.config.current.present
        found = (entry.manifest for domain, entry in catalog.items() if domain in present)
        return any(each is not None and each.kind not in PASSIVE for each in found)

    @property
    def due(self) -> float | None:
        """When something of it is due next, seconds since the epoch."""
        return self._hub.due

    async def start(self, ended: Callable[[], None]) -> None:
        """Start it.

        Args:
            ended: Called when it wants to be started again.
        """
        stages = [Stage("dashboard", self._open_dashboard, self._close_dashboard)]
        # What is lost to a hub of its own is opened again when that gives it up; until then it says why it cannot be.
        await self._hub.start(on_restart=ended, on_stop=ended, on_lost=lambda _: ended(), before_open=stages)
        # The database has said whose it is. The lock on the folder is how commands on this machine find the hub, and
        # a worker that was frozen and buried may still hold it.
        await asyncio.to_thread(self._lock.take_over)
        self._lock.update(*self._listens)

    async def close(self) -> None:
        """Stop it."""
        try:
            slow = await self._hub.stop()
            if slow:
                _log.warning("stopped without waiting for: %s", ", ".join(slow))
        finally:
            self._lock.release()
            self._end()

    async def _open_dashboard(self) -> None:
        self._dashboard = Dashboard(self._hub)

    async def _close_dashboard(self) -> None:
        if self._dashboard is not None:
            await self._dashboard.close()


class HomeOpener:
    """Makes homes run in this process.

    Args:
        options: Of the worker.
        membership: The worker.
        lease: Its lease.
        logs: Its log.
        hidden: Secrets of the worker, which no log of a home shows.
        tasks: Owner of what serves all homes.
    """

    def __init__(
        self,
        options: WorkerOptions,
        membership: Membership,
        lease: WorkerLease,
        logs: HomeLogs,
        hidden: Iterable[Secret | str],
        tasks: TaskOwner,
    ) -> None:
        self._options = options
        self._membership = membership
        self._lease = lease
        self._logs = logs
        self._hidden = tuple(hidden)
        self._lanes = Lanes({MAIN: RUNS_LIMIT})
        self._made: dict[str, Any] = {}
        catalog = find(None)
        self._checks = policy_checks(catalog, all_sections(IntegrationSchemas(catalog)))
        self._tasks = tasks
        self._run = options.run

    async def open(self, row: HomeRow, ended: Callable[[], None]) -> RunningHome:
        """Open a home.

        Raises:
            HubError: It cannot be opened; the error says why.
            OSError: Its folder cannot be used.
        """
        name = row.name
        place = WorkerPlace(name, self._run / f"{name}.sock", home_url(self._options, name))
        home = Home(self._options.homes / row.folder, place)
        await asyncio.to_thread(_prepare, home)
        redactor = Redactor()
        for each in self._hidden:
            redactor.register(each)
        tail = self._logs.add(name, redactor)
        try:
            hub = Hub(home, redactor=redactor, host=self._options.host, log=tail, share=self._share(name))
        except BaseException:
            self._logs.remove(name)
            raise
        running = RunningHome(hub, place, (self._options.host, self._options.port), partial(self._logs.remove, name))
        try:
            await running.start(ended)
        except BaseException:
            await running.close()
            raise
        return running

    async def close(self) -> None:
        """Close what served all homes; none is open any more."""
        for each in self._made.values():
            await each.close()

    def _share(self, name: str) -> Share:
        target = Target.from_url(self._options.database, name)
        worker = self._membership.id
        return Share(
            lease=self._lease,
            database=lambda path: PostgresqlDatabase(target, HUB_MIGRATIONS, path, worker=worker),
            lanes=self._lanes,
            checks=self._checks,
            cache=self._run / "cache",
            tasks=self._tasks,
            made=self._made,
            apart=partial(within, NO_HOME),
        )


def home_url(options: WorkerOptions, name: str) -> str:
    """Return the address of a home for its clients."""
    scheme = "https" if options.tls else "http"
    for domain in sorted(options.domains):
        usual = 443 if options.tls else 80
        return f"{scheme}://{name}.{domain}{'' if options.port == usual else f':{options.port}'}"
    return f"{options.url}/homes/{name}"


def _prepare(home: Home) -> None:
    """Look at the folder of a home, and finish what was left half done in it.

    Raises:
        HubError: It is not there, or asks for what a worker does not give.
    """
    if not home.configuration.is_file():
        raise NotFound(
            f"{home.configuration} is not there. Make the home with `homarus homes create`, or mount the folder that "
            "all workers share."
        )
    refuse(home)
    home.create()
    if read_running(home) is not None:
        return
    if (home.storage / "restore" / "journal.json").exists():
        from hub.backup.swap import finish

        finish(home)
    for folder in (home.path, home.storage):
        remove_unfinished(folder)


def run(options: WorkerOptions) -> int:
    """Carry homes until asked to stop; return the exit code.

    Raises:
        HubError: The worker cannot start.
    """
    restrict_umask()
    hide_environment(os.environ)
    gc.set_threshold(GC_THRESHOLD)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    redactor = Redactor()
    redactor.register(options.database)
    logs = _set_up_logging(options, redactor)
    with private_folder(options.run) as folder:
        return asyncio.run(_live(replace(options, run=folder), logs, redactor))


async def _live(options: WorkerOptions, logs: HomeLogs, redactor: Redactor) -> int:
    target = Target.from_url(options.database, "worker")
    secret = shared_secret(options.homes)
    hidden = (secret, options.database, target.password)
    for each in hidden:
        redactor.register(each)
    loop, clock, tasks, lease = asyncio.get_running_loop(), Clock(), TaskOwner("worker"), WorkerLease()
    membership = Membership(target, name=options.name, url=options.url, lease=lease, end=_end_now)
    opener = HomeOpener(options, membership, lease, logs, hidden, tasks)
    directory = Directory(target, membership.id, options.name, answer_limit_s=ANSWER_LIMIT_S)
    carrier = Carrier(membership, directory, opener, clock, idle_s=options.idle_s, homes_limit=options.homes_limit)
    membership.wanted = partial(loop.call_soon_threadsafe, carrier.look)
    settings = FrontSettings(
        options.host,
        options.port,
        options.url,
        secret,
        HomeNames(options.domains),
        options.tls,
        options.authority,
        options.trusted_proxies,
    )
    front = FrontDoor(settings, carrier, clock, tasks)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, partial(_stop, stopping))
    await asyncio.to_thread(membership.join)
    watching = TaskOwner("heartbeat")
    watching.spawn(membership.watch(), name="watch the heartbeat")
    try:
        host, port = await front.start()
        told = await _tell_metrics(options, membership, carrier, lease)
        tasks.spawn(carrier.run(), name="carry homes")
        _say(f"The worker {options.name} serves {host} port {port}, and carries homes of {options.homes}")
        if options.on_ready is not None:
            options.on_ready(f"http://{host}:{port}")
        await stopping.wait()
        _say("The worker takes no more homes, lets runs end, and gives its homes up")
        await carrier.drain()
        await opener.close()
        await front.stop()
        if told is not None:
            await told.cleanup()
    finally:
        await tasks.cancel_all()
        await directory.close()
        await asyncio.to_thread(membership.leave)
        await watching.cancel_all()
    return EXIT_OK


def _stop(stopping: asyncio.Event) -> None:
    """Begin to drain; when asked again, end at once."""
    if stopping.is_set():
        _end_now(EXIT_FAILED)
    stopping.set()


def _end_now(code: int) -> None:
    logging.shutdown()
    os._exit(code)


@contextmanager
def private_folder(parent: Path) -> Iterator[Path]:
    """Make a new folder that only this user reaches, whoever else writes into its parent; remove it in the end.

    Raises:
        StorageError: It cannot be made.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix="homarus-", dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise from_os(error, parent, "making a folder for sockets in") from error
    with made as folder:
        yield Path(folder)


def shared_secret(homes: Path) -> Secret:
    """Return what all workers of these homes show one another; the first one makes it.

    Raises:
        StorageError: It can be neither made nor read.
    """
    file = homes / SECRET_FILE
    try:
        if not file.exists():
            homes.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_once(file, secrets.token_urlsafe(32).encode())
        return Secret(file.read_text(encoding="utf-8").strip())
    except OSError as error:
        raise from_os(error, file, "making or reading") from error


async def _tell_metrics(
    options: WorkerOptions, membership: Membership, carrier: Carrier, lease: WorkerLease
) -> web.ServerRunner | None:
    if options.metrics is None:
        return None

    async def show(request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/metrics":
            return web.Response(status=404)
        return web.Response(text=metrics_text(membership, carrier, lease), headers={"Content-Type": CONTENT_TYPE})

    runner = web.ServerRunner(web.Server(show))
    await runner.setup()
    await web.TCPSite(runner, *options.metrics).start()
    return runner


def _set_up_logging(options: WorkerOptions, redactor: Redactor) -> HomeLogs:
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(JsonFormatter() if options.log_format == "json" else logging.Formatter(FORMAT))
    logs = HomeLogs(out, redactor)
    root = logging.getLogger()
    root.handlers[:] = [logs]
    root.setLevel(logging.DEBUG if options.verbose else logging.INFO)
    for noisy in ("asyncio", "watchfiles", "aiohttp.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return logs


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
