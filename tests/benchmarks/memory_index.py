"""Memory in a hub that runs: indexing, what is saved until it is found, search, ten years of diary, the hub's loop.

`HOMARUS_BENCH_CHUNKS=2000,50000` and `HOMARUS_BENCH_ENGINES=exact+fts5,chroma+whoosh` measure other sizes and engines
than the default (2,000 with fts5), `HOMARUS_BENCH_DIMENSIONS=1536` longer vectors, and
`HOMARUS_BENCH_DIARY=no` leaves the diary out.
"""

from __future__ import annotations

import os
import sys
import time

from tests.benchmarks.memory_home import Engines, MemoryHub, memory_home, write_notes
from tests.benchmarks.table import Row, row
from tests.memory.corpus.diary import TEN_YEARS_DAYS, diary

PAIRS = "exact+fts5,chroma+fts5"
"""Those with whoosh take longer than all the rest."""
SIZES = "2000"
QUERIES = 200
SAVES = 8
STARTS = 3
SEARCH_GOALS = {2_000: "< 12", 50_000: "< 40"}
LOOP_GOAL = "< 50"


def measure() -> list[Row]:
    """Measure each size with each pair of engines, then the diary."""
    dimensions = int(os.environ.get("HOMARUS_BENCH_DIMENSIONS", "384"))
    rows: list[Row] = []
    for size in map(int, os.environ.get("HOMARUS_BENCH_CHUNKS", SIZES).split(",")):
        for pair in os.environ.get("HOMARUS_BENCH_ENGINES", PAIRS).split(","):
            vectors, keywords = pair.split("+")
            rows += _notes(size, Engines(keywords, vectors, dimensions))
    if os.environ.get("HOMARUS_BENCH_DIARY") != "no":
        rows += _diary(Engines(dimensions=dimensions))
    return rows


def _notes(size: int, engines: Engines) -> list[Row]:
    name = f"memory {engines.name}, {size:,}"
    sys.stderr.write(f"  {name} …\n")
    with memory_home(engines) as memory:
        queries = write_notes(memory.workspace, size, QUERIES * 2)
        memory.hub.start()
        goals = {"seconds": "< 6", "requests": "< 40"} if size <= 2_000 else {}
        return [
            *_indexing(memory, name, goals),
            *_found(memory, name),
            *_searching(memory, name, queries, SEARCH_GOALS.get(size, "")),
            *_kept(memory, name),
        ]


def _diary(engines: Engines) -> list[Row]:
    name = "diary of ten years"
    sys.stderr.write(f"  {name} …\n")
    with memory_home(engines) as memory:
        needles = diary(memory.workspace, TEN_YEARS_DAYS)
        memory.hub.start()
        rows = _indexing(memory, name, {})
        rows += _found(memory, name)
        step = max(1, len(needles) // (QUERIES * 2))
        rows += _searching(memory, name, [each.question for each in needles[::step]][: QUERIES * 2], "< 12")
        rows.append(
            row(f"{name}: looked through, nothing new", "ms", [_took(memory, "memory.index") for _ in range(8)])
        )
        memory.page_ms("/memory")  # the first page of a dashboard builds its templates, whatever page it is
        memory.loop_ms()
        rows.append(row(f"{name}: list of its files", "ms", [_took(memory, "memory.list") for _ in range(8)]))
        rows.append(row(f"{name}: page of its files", "ms", [memory.page_ms("/memory") for _ in range(8)]))
        rows += _loop(memory, name, "listing")
        return [*rows, *_kept(memory, name), *_starting(memory, name, needles[0].question)]


def _indexing(memory: MemoryHub, name: str, goals: dict[str, str]) -> list[Row]:
    memory.loop_ms()
    begun = time.perf_counter()
    synced = memory.rpc("memory.index")
    taken = time.perf_counter() - begun
    assert (synced["problem"], synced["waiting"]) == (None, 0), synced
    requests = memory.server.counts()["requests"]
    rows = [
        row(
            f"{name}: index {synced['chunks']:,} passages of {synced['files']:,} files",
            "s",
            [taken],
            goals.get("seconds", ""),
        ),
        row(f"{name}: requests for vectors", "", [requests], goals.get("requests", "")),
        *_loop(memory, name, "indexing"),
    ]
    again = memory.rpc("memory.index", {"force": True})
    return [*rows, row(f"{name}: rebuild, vectors known", "s", [again["seconds"]])]


def _found(memory: MemoryHub, name: str) -> list[Row]:
    path = str(next((memory.workspace / "memory").rglob("*.md")).relative_to(memory.workspace))
    memory.search_ms(["where hangs the spare key"] * 2)
    saved = [memory.saved_ms(path, f"zq{number}x") for number in range(SAVES)]
    remembered = [memory.remembered_ms(f"wq{number}x") for number in range(SAVES)]
    return [
        row(f"{name}: file saved → found", "ms", saved, "< 2,000"),
        row(f"{name}: remembered → found", "ms", remembered),
    ]


def _searching(memory: MemoryHub, name: str, queries: list[str], goal: str) -> list[Row]:
    memory.search_ms(["something else entirely"] * 3)
    memory.loop_ms()
    half = len(queries) // 2
    return [
        row(f"{name}: search at the gateway", "ms", memory.search_ms(queries[:half]), goal),
        row(f"{name}: search inside the hub", "ms", memory.inside_ms(queries[half:]), goal),
        *_loop(memory, name, "searching"),
    ]


def _kept(memory: MemoryHub, name: str) -> list[Row]:
    worker = memory.worker
    assert worker is not None
    return [
        row(f"{name}: the worker's memory", "MB", [worker.memory_info().rss / 1e6]),
        row(f"{name}: index on the disk", "MB", [memory.index_mb]),
    ]


def _starting(memory: MemoryHub, name: str, query: str) -> list[Row]:
    """Start the hub again over its index."""
    ready, first = [], []
    for _ in range(STARTS):
        memory.close()
        memory.hub.stop()
        ready.append(memory.hub.start())
        first += memory.search_ms([query])
    return [
        row(f"{name}: start of the hub", "s", ready, "< 0.45"),
        row(f"{name}: first search after it", "ms", first),
        *_loop(memory, name, "starting"),
    ]


def _took(memory: MemoryHub, method: str) -> float:
    begun = time.perf_counter()
    memory.rpc(method)
    return (time.perf_counter() - begun) * 1_000


def _loop(memory: MemoryHub, name: str, doing: str) -> list[Row]:
    """Return by how much the loop was late, which includes what else the machine did, and how long it was held."""
    late_ms, held_ms, places = memory.loop_ms()
    for place in places:
        sys.stderr.write(f"    {name}: {doing}: {place}\n")
    return [
        row(f"{name}: the hub's loop, {doing}: held at most", "ms", [held_ms], LOOP_GOAL),
        row(f"{name}: the hub's loop, {doing}: late at most", "ms", [late_ms]),
    ]
