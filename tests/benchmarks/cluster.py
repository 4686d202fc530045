"""Many homes in a few workers, under load and under faults: `python -m tests.benchmarks cluster --help`.

PostgreSQL, workers, a chat app with a bot for each home and a slow model are real processes and real sockets on this
machine. Each home has a session in which somebody writes numbered messages. What is printed is what was counted.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from hub.cluster.lease import LEASE_S
from hub.core.errors import HubError
from tests.benchmarks.cluster_machines import Databases, Workers
from tests.benchmarks.cluster_world import Account, World
from tests.benchmarks.table import machine
from tests.servers.forked import REPOSITORY

MOVE_EVERY_S = 5.0
FREEZE_S = LEASE_S + 2.0
FREEZE_PAUSE_S = 10.0
DISK_MB = 512
CONNECTIONS_A_HOME = 3
OPEN_LIMIT_S = 60.0
OPEN_LIMIT_A_HOME_S = 3.0
SETTLE_S = 120.0
IDLE_S = 10.0


def main(arguments: Sequence[str]) -> None:
    """Run the simulation and print what was counted, for each number of workers."""
    options = _parser().parse_args(arguments)
    if options.kill_primary and not options.standby:
        _parser().error("--kill-primary needs --standby")
    if options.checkout and not options.upgrade:
        _parser().error("--from needs --upgrade")
    found = asyncio.run(_simulate(options))
    if options.json:
        sys.stdout.write(json.dumps({"machine": machine(), "runs": found}, indent=2) + "\n")
        return
    sys.stdout.write("machine: " + ", ".join(f"{name} {value}" for name, value in machine().items()) + "\n")
    for each in found:
        sys.stdout.write("\n" + "".join(f"{name:<34}{value}\n" for name, value in each.items()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks cluster", description=__doc__.partition("\n")[0])
    parser.add_argument("--homes", type=int, default=20, help="each with a session (default: 20)")
    parser.add_argument("--workers", type=_counts, default=[1], metavar="N[,N…]", help="processes; several runs (1)")
    parser.add_argument("--rate", type=float, default=5.0, help="messages a second over all homes (5)")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long people write (30)")
    parser.add_argument("--model-s", type=_range, default=(1.0, 5.0), metavar="A-B", help="what the model takes (1-5)")
    parser.add_argument("--kill-every", type=float, metavar="S", help="kill a worker every so many seconds")
    parser.add_argument("--freeze", type=float, metavar="S", help="freeze a worker for so many seconds, once")
    parser.add_argument(
        "--freeze-senders", action="store_true", help="freeze whoever has just sent, beyond its lease, again and again"
    )
    parser.add_argument("--move", action="store_true", help=f"move a home every {MOVE_EVERY_S:g} s")
    parser.add_argument("--database-away", type=float, metavar="S", help="the database is gone so long, once")
    parser.add_argument("--disk-full", type=float, metavar="S", help="the database's disk is full so long, once")
    parser.add_argument("--clocks", type=int, default=0, metavar="S", help="so far apart are the workers' clocks (0)")
    parser.add_argument("--upgrade", action="store_true", help="end each worker, and start it again from this checkout")
    parser.add_argument("--from", dest="checkout", metavar="REF", help="the commit that they are upgraded from (this)")
    parser.add_argument("--standby", action="store_true", help="a synchronous standby of the database")
    parser.add_argument("--kill-primary", action="store_true", help="kill the primary, promote the standby")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for homes and logs; else they are removed")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    return parser


def _counts(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _range(text: str) -> tuple[float, float]:
    least, _, most = text.partition("-")
    return float(least), float(most or least)


async def _simulate(options: argparse.Namespace) -> list[dict[str, Any]]:
    connections = options.homes * CONNECTIONS_A_HOME + 100
    with (
        tempfile.TemporaryDirectory(prefix="homarus-cluster-") as folder,
        Databases(connections, standby=options.standby, disk_mb=DISK_MB if options.disk_full else None) as databases,
    ):
        checkout = _clone(options.checkout, Path(folder) / "before") if options.checkout else REPOSITORY
        homes = (options.keep or Path(folder)) / "homes"
        async with World(options.homes, options.model_s) as world:
            made_s = await _timed(_make_homes(world, databases, homes))
            _say(f"{options.homes} homes made in {made_s:.1f} s")
            return [await _run(options, count, world, databases, homes, checkout) for count in options.workers]


def _clone(ref: str, folder: Path) -> Path:
    """Check out a commit of this repository."""
    commit = _git(REPOSITORY, "rev-parse", "--verify", f"{ref}^{{commit}}")
    _git(REPOSITORY, "clone", "--quiet", "--shared", "--no-checkout", str(REPOSITORY), str(folder))
    _git(folder, "checkout", "--quiet", commit)
    return folder


def _version(checkout: Path) -> str:
    return _git(checkout, "describe", "--always", "--dirty")


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


async def _make_homes(world: World, databases: Databases, homes: Path) -> None:
    from hub.cluster.making import HomeMaker

    maker = HomeMaker(databases.url, homes)
    await maker.prepare()
    try:
        for bot in world.bots:
            folder = homes / f"h{bot.number}"
            folder.mkdir(parents=True, mode=0o700)
            (folder / "configuration.yaml").write_text(world.configuration(bot.number))
            await maker.create(folder.name)
    finally:
        await maker.directory.close()


async def _run(
    options: argparse.Namespace, count: int, world: World, databases: Databases, homes: Path, checkout: Path
) -> dict[str, Any]:
    for bot in world.bots:
        bot.up = False
    async with Workers(
        count, homes, databases.url, options.homes, checkout=checkout, clocks_s=options.clocks
    ) as workers:
        opened_s = await _timed(_open_all(world, databases, homes))
        found: dict[str, Any] = {"workers": count, "homes": options.homes, "all homes open after, s": opened_s}
        found["connections to PostgreSQL"] = databases.connections()
        found["memory of all workers, MB"] = sum(each.memory_mb() for each in workers.all)
        _say(f"{count} workers have {options.homes} homes open after {opened_s:.1f} s")
        found["CPU of an idle home, ms/s"] = await _idle_ms(workers, options.homes)
        used, used_there, begun = workers.cpu_s(), databases.cpu_s(), time.monotonic()
        faults = [asyncio.create_task(each) for each in _faults(options, world, workers, databases, homes)]
        await world.drive(options.rate, options.seconds)
        for each in faults:
            each.cancel()
        await asyncio.gather(*faults, return_exceptions=True)
        driven_s = time.monotonic() - begun
        await world.settled(SETTLE_S)
        account = world.account()
        found |= _figures(account, driven_s, workers.cpu_s() - used, databases.cpu_s() - used_there)
        found["workers ended with"] = [code for each in workers.all for code in each.ends]
        if options.upgrade:
            found["upgraded"] = f"{len(workers.drained_s)} workers, {_version(checkout)} to {_version(REPOSITORY)}"
            found["ended after, s"] = [round(each, 1) for each in workers.drained_s]
        if account.lost:
            found["which"] = account.lost[:20]
        found["said beside answers"] = sorted(set(account.other))[:5]
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}


async def _idle_ms(workers: Workers, homes: int) -> float:
    """Return what an open home costs in which nobody writes, in milliseconds of CPU a second."""
    await asyncio.sleep(IDLE_S)  # what the start left to do
    used = workers.cpu_s()
    await asyncio.sleep(IDLE_S)
    return (workers.cpu_s() - used) * 1000 / IDLE_S / homes


async def _open_all(world: World, databases: Databases, homes: Path) -> None:
    from hub.cluster.making import HomeMaker

    maker = HomeMaker(databases.url, homes)
    try:
        for bot in world.bots:
            await maker.directory.want(f"h{bot.number}")
    finally:
        await maker.directory.close()
    await world.all_up(OPEN_LIMIT_S + OPEN_LIMIT_A_HOME_S * len(world.bots))


def _faults(
    options: argparse.Namespace, world: World, workers: Workers, databases: Databases, homes: Path
) -> list[Coroutine[Any, Any, None]]:
    found: list[Coroutine[Any, Any, None]] = []
    if options.kill_every:
        found.append(workers.kill_every(options.kill_every, _say))
    if options.freeze:
        found.append(_later(0.2 * options.seconds, lambda: workers.freeze(options.freeze, _say)))
    if options.freeze_senders:
        found.append(_freeze_senders(world, workers))
    if options.upgrade:
        found.append(_later(0.2 * options.seconds, lambda: workers.upgrade(_say)))
    if options.disk_full:
        full_s = options.disk_full
        found.append(_later(0.4 * options.seconds, lambda: _told("the disk is full", databases.fill_disk(full_s))))
    if options.database_away:
        away = options.database_away
        found.append(_later(0.4 * options.seconds, lambda: _told("the database is gone", databases.go_away(away))))
    if options.kill_primary:
        found.append(_later(0.7 * options.seconds, lambda: _told("the primary is killed", databases.fail_over())))
    if options.move:
        found.append(_move(workers, databases, homes, options.homes))
    return found


async def _later(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(seconds)
    await asyncio.shield(asyncio.ensure_future(work()))


async def _told(text: str, work: Awaitable[None]) -> None:
    _say(text)
    await work


async def _freeze_senders(world: World, workers: Workers) -> None:
    """Freeze a worker whose message has arrived, until others have its homes; people write to the home meanwhile.

    The first message shows at once, and its sender does not learn it; the second when its sender wakes; and so on.
    """
    for is_late in itertools.cycle((False, True)):
        held = await world.hold_send()
        worker = workers.connected_from(held.port)
        if worker is None:
            held.shown.set()
            continue
        worker.send(signal.SIGSTOP)
        _say(
            f"{worker.name} frozen as h{held.bot.number} sends; that shows {'when it wakes' if is_late else 'at once'}"
        )
        try:
            if not is_late:
                held.shown.set()
            await asyncio.sleep(1.0)
            if is_late or not held.bot.busy:
                held.bot.say()
            await asyncio.sleep(FREEZE_S)
        finally:
            worker.send(signal.SIGCONT)
            held.shown.set()
        await asyncio.sleep(FREEZE_PAUSE_S)


async def _move(workers: Workers, databases: Databases, homes: Path, count: int) -> None:
    from hub.cluster.making import HomeMaker

    maker = HomeMaker(databases.url, homes)
    try:
        while True:
            await asyncio.sleep(MOVE_EVERY_S)
            name, worker = f"h{random.randint(1, count)}", random.choice(workers.all)
            _say(f"{name} moves to {worker.name}")
            try:
                await maker.directory.move(name, worker.name)
            except HubError as error:
                _say(f"it does not: {error.message}")
    finally:
        await maker.directory.close()


def _figures(account: Account, driven_s: float, cpu_s: float, database_cpu_s: float) -> dict[str, Any]:
    """Return what was counted, by name."""
    answered = max(1, account.answered)
    return {
        "messages said": account.said,
        "messages answered": account.answered,
        "messages/s": account.answered / driven_s,
        "wait p50, s": _quantile(account.waits_s, 0.5),
        "wait p99, s": _quantile(account.waits_s, 0.99),
        "wait without the model p50, s": _quantile(account.own_waits_s, 0.5),
        "wait without the model p99, s": _quantile(account.own_waits_s, 0.99),
        "wait without the model, worst, s": _quantile(account.own_waits_s, 1.0),
        "CPU of workers, ms a message": cpu_s * 1000 / answered,
        "CPU of PostgreSQL, ms a message": database_cpu_s * 1000 / answered,
        "lost": len(account.lost),
        "sent twice": account.twice,
        "out of order": account.out_of_order,
        "model asked again": account.begun_again,
    }


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


async def _timed(work: Awaitable[None]) -> float:
    begun = time.monotonic()
    await work
    return time.monotonic() - begun


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
