"""The engines of memory beside each other on one corpus: building, one changed passage, search, memory and disk.

Each runs in a process of its own. `HOMARUS_BENCH_CHUNKS=2000,50000` measures other sizes than the default 2 000, and
`HOMARUS_BENCH_DIMENSIONS=1536` longer vectors; whoosh takes minutes at 50 000.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.memory_engines_corpus import DIMENSIONS, SEEN, corpus
from tests.benchmarks.table import Row, row

KINDS = ("fts5", "whoosh", "exact", "chroma")
PAIRS = (("fts5", "exact"), ("whoosh", "exact"), ("fts5", "chroma"), ("whoosh", "chroma"))
DEFAULT_SIZES = "2000"
QUERIES = 200
UPDATES = 30
CANDIDATES = 24
"""Passages asked of an engine for a search that returns six: four times as many."""
BATCH = 1_000
PAIR_GOALS = {2_000: "< 12", 50_000: "< 40"}


def measure() -> list[Row]:
    """Measure every engine, and the pairs a search asks, at each size."""
    dimensions = int(os.environ.get("HOMARUS_BENCH_DIMENSIONS", DIMENSIONS))
    rows = []
    for size in map(int, os.environ.get("HOMARUS_BENCH_CHUNKS", DEFAULT_SIZES).split(",")):
        found = {kind: _measured(kind, size, dimensions) for kind in KINDS}
        for kind, figures in found.items():
            rows += _rows(f"{kind}, {size:,} chunks", figures)
        for pair in PAIRS:
            both = [a + b for a, b in zip(*(found[kind]["search_ms"] for kind in pair), strict=True)]
            rows.append(row(f"{' + '.join(pair)}, {size:,} chunks: search", "ms", both, PAIR_GOALS.get(size, "")))
        exact = found["exact"]["nearest"]
        missed = [100 * len(set(b) - set(a)) / len(b) for a, b in zip(found["chroma"]["nearest"], exact, strict=True)]
        rows.append(row(f"chroma, {size:,} chunks: nearest that it misses", "%", missed))
    return rows


def _rows(what: str, figures: dict[str, Any]) -> list[Row]:
    return [
        row(f"{what}: build", "s", [figures["build_s"]]),
        row(f"{what}: open", "ms", [figures["open_ms"]]),
        row(f"{what}: one passage changed", "ms", figures["update_ms"]),
        row(f"{what}: search", "ms", figures["search_ms"]),
        row(f"{what}: memory it adds", "MB", [figures["rss_mb"]]),
        row(f"{what}: disk", "MB", [figures["disk_mb"]]),
    ]


def _measured(kind: str, size: int, dimensions: int) -> dict[str, Any]:
    sys.stderr.write(f"  {kind}, {size:,} …\n")
    answer = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory_engines", kind, str(size), str(dimensions)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _figures(kind: str, size: int, dimensions: int) -> dict[str, Any]:
    """Measure one engine in this process."""
    made = corpus(size, QUERIES, dimensions)
    given: Sequence[Any] = made.documents if kind in ("fts5", "whoosh") else made.vector_rows()
    asked: Sequence[Any] = made.queries if kind in ("fts5", "whoosh") else list(made.query_vectors)
    with tempfile.TemporaryDirectory() as directory:
        before = _rss_mb()
        engine = _opened(kind, Path(directory), dimensions)
        build_s = sum(_took(engine.apply, (), given[at : at + BATCH])[0] for at in range(0, size, BATCH))
        update_ms = [1_000 * _took(engine.apply, (), [each])[0] for each in given[:UPDATES]]
        engine.search(asked[0], SEEN, CANDIDATES)
        searches = [_took(engine.search, each, SEEN, CANDIDATES) for each in asked]
        rss_mb = _rss_mb() - before
        engine.close()
        disk_bytes = sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())
        open_s, again = _took(_opened, kind, Path(directory), dimensions)
        again.close()
    return {
        "build_s": build_s,
        "open_ms": 1_000 * open_s,
        "update_ms": update_ms,
        "search_ms": [1_000 * took for took, _ in searches],
        "rss_mb": rss_mb,
        "disk_mb": disk_bytes / 1e6,
        "nearest": [[id_ for id_, _ in hits] for _, hits in searches],
    }


def _opened(kind: str, directory: Path, dimensions: int) -> Any:
    # Loaded here, so that what a library takes is counted with its engine.
    from tests.integrations.memory.engines.kinds import open_keywords, vectors_in

    if kind in ("fts5", "whoosh"):
        return open_keywords(kind, directory)
    return vectors_in(kind, directory, None, dimensions)


def _took(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = call(*arguments)
    return time.perf_counter() - begun, found


def _rss_mb() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6


if __name__ == "__main__":
    json.dump(_figures(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), sys.stdout)
