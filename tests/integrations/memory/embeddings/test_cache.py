"""Vectors that are kept, and a cache that is damaged, full or forbidden."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.embeddings.cache import Cache, drop
from integrations.memory.notes.index.embeddings.costs import spent
from integrations.memory.notes.index.embeddings.store import Store
from tests.integrations.memory.embeddings.conftest import Make
from tests.lengths import examples
from tests.servers.embedding_server import EmbeddingServer


def _vector(number: float, length: int = 8) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = np.full(length, number, dtype=np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32).reshape(length)


def _bytes_of(cache_path: Path) -> bytes:
    return b"".join(path.read_bytes() for path in cache_path.parent.iterdir())


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _overwrite(path: Path, start: int, filling: bytes) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[:start] + (filling * len(raw))[: len(raw) - start])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "head": lambda path: _overwrite(path, 0, b"\xff"),
    "behind the head": lambda path: _overwrite(path, 4_096, b"\xa5"),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:9_000]),
    "text": lambda path: path.write_bytes(b"this is no database\n" * 400),
    "empty": lambda path: path.write_bytes(b""),
}


class _Hours:
    """A clock that a test moves by the hour."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def later(self) -> None:
        self.now += 3_600


async def test_what_was_made_once_is_not_asked_again_not_even_by_another_agent(
    server: EmbeddingServer, make: Make
) -> None:
    first, second = await make(), await make()
    before, _ = await first.documents(["one", "two"])
    requests = server.requests

    again, took = await second.documents(["two", "one", "one"])

    assert server.requests == requests
    assert (took.requests, took.cached) == (0, 2)
    assert np.array_equal(np.asarray(again[0]), np.asarray(before[1]))


async def test_another_model_has_vectors_of_its_own(server: EmbeddingServer, make: Make) -> None:
    first, second = await make(model="one"), await make(model="other")
    await first.documents(["text"])
    before = server.texts

    _, took = await second.documents(["text"])

    assert took.cached == 0
    assert server.texts - before == 1


async def test_no_text_is_ever_in_the_file(make: Make, cache_path: Path) -> None:
    embedder = await make(api_key="sk-the-key-itself")
    await embedder.documents(["the canary sings at midnight"])
    await embedder.query("where does the canary sing")
    await embedder.close()

    raw = _bytes_of(cache_path)

    assert b"canary" not in raw
    assert b"sk-the-key-itself" not in raw
    assert _mode(cache_path) == 0o600


async def test_what_is_dropped_is_made_again(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    embedder = await make()
    (vector, _), _ = await embedder.documents(["secret", "other"])
    assert vector is not None

    assert drop(cache_path, ["secret", "never seen"]) == 1

    await embedder.close()
    assert vector.tobytes() not in _bytes_of(cache_path)
    _, took = await (await make()).documents(["secret", "other"])
    assert (took.texts, took.cached) == (1, 1)


async def test_what_is_dropped_is_not_left_in_a_damaged_copy(make: Make, cache_path: Path) -> None:
    embedder = await make()
    (vector,), _ = await embedder.documents(["secret"])
    await embedder.close()
    DAMAGES["head"](cache_path)
    assert vector is not None

    drop(cache_path, ["secret"])

    assert vector.tobytes() not in _bytes_of(cache_path)


def test_dropping_from_a_cache_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    assert drop(tmp_path / "none.db", ["text"]) == 0
    assert not (tmp_path / "none.db").exists()


async def test_the_least_recently_used_go_first(cache_path: Path) -> None:
    store, clock = Store(cache_path), _Hours()
    cache = Cache(store, "model", 3, clock)
    await cache.put({name: _vector(1.0) for name in "abc"})
    clock.later()
    await cache.get(["a"])
    clock.later()

    await cache.put({"d": _vector(2.0)})

    assert sorted(await cache.get(["a", "b", "c", "d"])) == ["a", "c", "d"]
    await store.close()


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("pg"), st.sampled_from("abcdef")), max_size=30), st.integers(1, 4))
def test_it_never_holds_more_than_its_limit_nor_anything_that_was_not_put(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]], limit: int
) -> None:
    async def run() -> None:
        store, clock = Store(tmp_path_factory.mktemp("cache") / "c.db"), _Hours()
        cache, put = Cache(store, "model", limit, clock), dict[str, float]()
        for number, (what, name) in enumerate(steps):
            clock.later()
            if what == "p":
                put[name] = float(number + 1)
                vector = np.eye(1, 8, number % 8, dtype=np.float32)[0]
                await cache.put({name: vector})
                put[name] = number % 8
            found = await cache.get(list("abcdef"))
            assert len(found) <= limit
            assert all(int(np.argmax(vector)) == put[key] for key, vector in found.items())
        await store.close()

    asyncio.run(run())


async def test_nothing_is_kept_when_it_is_switched_off(server: EmbeddingServer, make: Make, cache_path: Path) -> None:
    embedder = await make(cache=0)

    await embedder.documents(["one"])
    vectors, took = await embedder.documents(["one"])

    assert vectors[0] is not None
    assert (took.cached, took.texts) == (0, 1)
    assert spent(cache_path)[0]["texts"] >= 2


@pytest.mark.parametrize("damage", list(DAMAGES))
async def test_a_damaged_cache_is_set_aside_and_begun_anew(make: Make, cache_path: Path, damage: str) -> None:
    embedder = await make()
    await embedder.documents([f"text {number}" for number in range(50)])
    await embedder.close()
    DAMAGES[damage](cache_path)

    second = await make()
    vectors, _ = await second.documents([f"text {number}" for number in range(60)])
    again, took = await second.documents([f"text {number}" for number in range(60)])

    assert all(vector is not None for vector in [*vectors, *again])
    assert took.cached == 60


async def test_a_flipped_bit_in_a_vector_is_seen(make: Make, cache_path: Path) -> None:
    embedder = await make()
    before, _ = await embedder.documents(["one", "two"])
    with closing(sqlite3.connect(cache_path)) as database, database:
        id, raw = database.execute("SELECT id, vector FROM vectors ORDER BY id").fetchone()
        database.execute("UPDATE vectors SET vector=? WHERE id=?", (bytes([raw[0] ^ 0x40]) + raw[1:], id))

    after, took = await embedder.documents(["one", "two"])

    assert (took.cached, took.texts) == (1, 1)
    assert np.array_equal(np.asarray(after), np.asarray(before))


async def test_a_cache_that_cannot_be_written_costs_no_answer(make: Make, cache_path: Path) -> None:
    await asyncio.to_thread(cache_path.mkdir, parents=True)

    embedder = await make()
    vectors, _ = await embedder.documents(["one"])

    assert vectors[0] is not None
    assert len(await embedder.query("one")) == 384
    assert spent(cache_path) == []


async def test_a_model_that_was_exchanged_behind_its_name_is_noticed(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    await embedder.documents(["old", "older"])
    fingerprint = embedder.id.fingerprint
    server.set(dimensions=256)

    vectors, _ = await embedder.documents(["old", "new"])

    assert {len(vector) for vector in vectors if vector is not None} == {256}
    assert all(vector is not None for vector in vectors)
    assert embedder.id.fingerprint != fingerprint


async def test_a_query_of_another_length_than_the_index_is_refused(server: EmbeddingServer, make: Make) -> None:
    embedder = await make()
    await embedder.documents(["old"])
    server.set(dimensions=256)

    with pytest.raises(EmbeddingFailed, match="another length"):
        await embedder.query("old")
