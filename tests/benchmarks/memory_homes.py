"""The memories of many homes in one index process, their vectors on one Chroma server or beside it.

`python -m tests.benchmarks memory_homes --help`. The index process, the server that makes vectors and the Chroma server
are processes of their own, and each home asks as in a worker. What is printed is what was counted; nothing is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil

from hub.core.clock import ALWAYS, Clock
from hub.core.lanes import Lanes
from hub.core.tasks import TaskOwner
from hub.foundation import Share
from hub.memory.contract import SearchAnswer
from hub.memory.scope import MemoryScope
from hub.security.root import Root
from hub.storage.database import Database
from integrations.memory.notes.client.home_index import HomeIndex
from integrations.memory.notes.job import Job, Source
from integrations.memory.notes.memory import NotesMemory
from tests.benchmarks.table import machine
from tests.integrations.memory.engines.conftest import ChromaServer
from tests.servers.embedding_server import EmbeddingServerProcess

OWNER = MemoryScope(None, private=True, shared=True)
ENGLISH = (
    "the",
    "boiler",
    "was",
    "serviced",
    "on",
    "a",
    "cold",
    "morning",
    "and",
    "would",
    "last",
    "another",
    "winter",
)
CHINESE = "今天上午修好了锅炉师傅说还能再用一个冬天我们决定明年春天再换新的"
WORDS_A_NOTE = 60
LOOK_S = 0.05
TURN_S = 0.3
"""How long a turn waits for what the memory has to say."""
BACK_LIMIT_S = 300.0


def main(arguments: Sequence[str]) -> None:
    """Run it and print what was counted."""
    options = _parser().parse_args(arguments)
    found = asyncio.run(_measured(options))
    if options.json:
        sys.stdout.write(json.dumps({"machine": machine(), "figures": found}, indent=2) + "\n")
        return
    sys.stdout.write("machine: " + ", ".join(f"{name} {value}" for name, value in machine().items()) + "\n\n")
    sys.stdout.write("".join(f"{name:<62}{value}\n" for name, value in found.items()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks memory_homes", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--homes", type=int, default=100, help="each with a memory (default: 100)")
    parser.add_argument("--notes", type=int, default=30, help="files of each, a third of them Chinese (30)")
    parser.add_argument("--at-once", type=int, default=16, metavar="N", help="homes that are opened at once (16)")
    parser.add_argument("--searches", type=int, default=1000, help="after that, in homes by chance (1000)")
    parser.add_argument("--rebuild", type=int, default=20, metavar="N", help="homes whose index is deleted (20)")
    parser.add_argument("--vectors", choices=("chroma", "exact"), default="chroma", help="the engine (chroma)")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    return parser


class _Home:
    """A home with its notes, as its hub in a worker has them."""

    def __init__(self, number: int, folder: Path, share: Share, settings: dict[str, Any]) -> None:
        self.name = f"h{number}"
        self.word = f"keyword{number}x"
        self.folder = folder / self.name
        workspace = self.folder / "workspace"
        job = Job("main", str(self.folder / ".storage/memory/main"), (Source("", str(workspace)),), settings)
        self.index_folder = Path(job.directory)
        self._workspace, self._share, self._job = workspace, share, job
        self.open()

    def open(self) -> None:
        """Open its memory, as its hub does when it starts."""
        self.memory = NotesMemory(
            lambda agent_id: Root(self._workspace),
            lambda agent_id: self._job,
            HomeIndex(self._share, self.name, Clock(), TaskOwner(self.name)),
            history_of=lambda agent_id: self.folder / "history",
            tasks=TaskOwner(self.name),
        )

    def write(self, notes: int) -> None:
        """Write its notes, each with a word that no other home has."""
        rng = random.Random(self.name)
        (self._workspace / "memory").mkdir(parents=True)
        for number in range(notes):
            if number % 3 == 0:
                said = "".join(rng.choices(CHINESE, k=WORDS_A_NOTE))
            else:
                said = " ".join(rng.choices(ENGLISH, k=WORDS_A_NOTE))
            path = self._workspace / f"memory/2026-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}.md"
            path.write_text(f"# {self.name}\n\n- {self.word} {said}\n", encoding="utf-8")

    async def search(self, within_s: float | None = None) -> SearchAnswer:
        """Ask what every home has something about, and return the answer."""
        return await self.memory.search(f"boiler {self.word} 锅炉", agent_id="main", scope=OWNER, within_s=within_s)


class _Told(dict[str, str]):
    """The figures, each also told when it is known."""

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(name, value)
        sys.stderr.write(f"{name}: {value}\n")


class _Waits:
    """How long searches took, which engines answered, and what came from another home."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.by: Counter[str] = Counter()
        self.strangers = self.empty = 0

    async def take(self, home: _Home, within_s: float | None = None) -> SearchAnswer:
        """Search once."""
        began = time.perf_counter()
        answer = await home.search(within_s)
        self.ms.append((time.perf_counter() - began) * 1_000)
        self.by[" ".join(each.partition(":")[0] for each in answer.engines)] += 1
        self.strangers += sum(home.word not in hit.text for hit in answer.hits)
        self.empty += not answer.hits
        return answer

    def told(self) -> str:
        """Return it as a line."""
        if not self.ms:
            return "none"
        by = ", ".join(f"{count} by {name}" for name, count in self.by.most_common())
        p99 = sorted(self.ms)[int(0.99 * (len(self.ms) - 1))]
        return (
            f"p50 {statistics.median(self.ms):.1f}, p99 {p99:.1f}, most {max(self.ms):.1f} ms; {by}; "
            f"of other homes {self.strangers}, empty {self.empty}"
        )


async def _measured(options: argparse.Namespace) -> dict[str, str]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # as a worker does
    folder = Path(tempfile.mkdtemp(prefix="homarus-memory-homes-"))
    tasks = TaskOwner("worker")
    share = Share(
        lease=ALWAYS,
        database=lambda path: Database(path, []),
        lanes=Lanes(),
        checks={},
        cache=folder / "cache",
        tasks=tasks,
        made={},
        apart=nullcontext,
    )
    chroma = ChromaServer(folder / "chroma") if options.vectors == "chroma" else None
    try:
        with EmbeddingServerProcess() as embeddings:
            settings = _settings(embeddings.base_url, chroma)
            homes = [_Home(number, folder / "homes", share, settings) for number in range(options.homes)]
            for home in homes:
                home.write(options.notes)
            return await _figures(options, homes, share, chroma, folder)
    finally:
        for each in share.made.values():
            await each.close()
        await tasks.cancel_all()
        if chroma is not None:
            chroma.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _settings(embeddings: str, chroma: ChromaServer | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "embeddings": {"provider": "openai", "base_url": embeddings, "model": "words", "timeout": 60}
    }
    if chroma is not None:
        engine = {"module": "integrations.memory.chroma.engine", "settings": {"url": chroma.url}}
        settings |= {"vectors": "chroma", "engines": {"chroma": engine}}
    return settings


async def _figures(
    options: argparse.Namespace, homes: list[_Home], share: Share, chroma: ChromaServer | None, folder: Path
) -> _Told:
    found = _Told()
    found["homes, notes each, engine"] = f"{len(homes)}, {options.notes}, {options.vectors}"
    rng = random.Random(1)
    known, first = _Waits(), _Waits()
    await homes[0].memory.sync(agent_id="main")
    took_s, each_s = await _beside(
        _all(homes[1:], options.at_once, lambda home: home.memory.sync(agent_id="main")),
        lambda: known.take(homes[0]),
        lambda: first.take(rng.choice(homes)),
    )
    found["all homes indexed after"] = f"{took_s:.1f} s"
    tenth = len(each_s) // 10 or 1
    early, late = statistics.mean(each_s[:tenth]), statistics.mean(each_s[-tenth:])
    found["the first and last tenth of the homes, each"] = f"{early:.2f}, {late:.2f} s"
    found["searches in one home meanwhile"] = known.told()
    found["searches in homes by chance meanwhile"] = first.told()
    waits = _Waits()
    for _ in range(options.searches):
        await waits.take(rng.choice(homes))
    found["searches one after the other, all at rest"] = waits.told()
    pid = next(iter(share.made.values())).pid
    process = psutil.Process(pid)
    found["index process: memory, open files, threads"] = (
        f"{process.memory_info().rss / 1e6:.0f} MB, {process.num_fds()}, {process.num_threads()}"
    )
    found["index process: CPU"] = f"{sum(process.cpu_times()[:2]):.1f} s"
    found["indexes on the disk"] = f"{sum(map(_bytes, (home.index_folder for home in homes))) / 1e6:.0f} MB"
    if chroma is not None:
        server = psutil.Process(chroma.pid)
        found["Chroma server: memory, disk, CPU, files"] = (
            f"{server.memory_info().rss / 1e6:.0f} MB, {_bytes(folder / 'chroma') / 1e6:.0f} MB, "
            f"{sum(server.cpu_times()[:2]):.1f} s, {server.num_fds()}"
        )
    await _rebuild(homes[: options.rebuild], found)
    if chroma is not None:
        await _do_without(homes, chroma, rng, found)
    return found


async def _rebuild(homes: list[_Home], found: _Told) -> None:
    """Delete indexes as of homes that come to a machine without them, and see who answers."""
    for home in homes:
        await home.memory.close()
        shutil.rmtree(home.index_folder)
        home.open()
    first, whole = _Waits(), []

    async def one(home: _Home) -> None:
        began = time.perf_counter()
        making = asyncio.create_task(home.memory.sync(agent_id="main"))
        await first.take(home, TURN_S)
        await making
        whole.append(time.perf_counter() - began)

    await asyncio.gather(*map(one, homes))
    found[f"indexes of {len(homes)} homes deleted, first answers"] = first.told()
    found["those whole again after"] = f"{statistics.median(whole):.1f} s, last {max(whole):.1f} s"


async def _do_without(homes: list[_Home], chroma: ChromaServer, rng: random.Random, found: _Told) -> None:
    """Let the server be away, in two ways, and see who answers meanwhile and after."""
    for how, away, back in (("killed", chroma.stop, chroma.start), ("frozen", chroma.freeze, chroma.thaw)):
        waits = _Waits()
        await asyncio.to_thread(away)
        some = rng.sample(homes, min(len(homes), 50))
        for home in some:
            await waits.take(home)
        found[f"Chroma server {how}: searches in {len(some)} homes"] = waits.told()
        await asyncio.to_thread(back)
        began, after = time.perf_counter(), _Waits()
        while time.perf_counter() - began < BACK_LIMIT_S:
            if any(each.startswith("vectors") for each in (await after.take(some[0])).engines):
                break
            await asyncio.sleep(1)
        found[f"{how}, back: found by meaning again after"] = f"{time.perf_counter() - began:.1f} s"


async def _all(homes: list[_Home], at_once: int, do: Callable[[_Home], Awaitable[Any]]) -> list[float]:
    """Do something with every home, so many at once; return how long each took, in order of their ends."""
    places, took = asyncio.Semaphore(at_once), []

    async def one(home: _Home) -> None:
        async with places:
            began = time.perf_counter()
            await do(home)
            took.append(time.perf_counter() - began)

    await asyncio.gather(*map(one, homes))
    return took


async def _beside(work: Awaitable[list[float]], *asked: Callable[[], Awaitable[Any]]) -> tuple[float, list[float]]:
    """Ask again and again until some work is done; return how long that took, and its result."""
    began = time.perf_counter()
    task = asyncio.ensure_future(work)

    async def ask(what: Callable[[], Awaitable[Any]]) -> None:
        while not task.done():
            await what()
            await asyncio.sleep(LOOK_S)

    await asyncio.gather(task, *map(ask, asked))
    return time.perf_counter() - began, task.result()


def _bytes(folder: Path) -> int:
    told = subprocess.run(["du", "-sB1", folder], stdout=subprocess.PIPE, check=True, text=True)
    return int(told.stdout.split()[0])
