"""Batch jobs that do not begin, are lost, forgotten or cut off: nothing is paid for twice, nothing is left behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from integrations.memory.notes.index.embeddings.batch_api import UPLOAD_TIMEOUT_S
from integrations.memory.notes.index.embeddings.jobs import LOOK_FIRST_S
from tests.integrations.memory.embeddings.conftest import Make
from tests.integrations.memory.embeddings.vendors import TEXTS, VENDORS, Vendor, aged, allow, due, jobs
from tests.servers.embedding_server import EmbeddingServer

REPOSITORY = Path(__file__).resolve().parents[4]
LIMIT_S = 60.0

pytestmark = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)


def _start(vendor: Vendor, server: EmbeddingServer, cache_path: Path, file_limit: str = "") -> subprocess.Popen[str]:
    """Start a process that embeds `TEXTS` through a job."""
    command = [sys.executable, "-m", "tests.integrations.memory.embeddings.worker", getattr(server, vendor.url)]
    command += [str(cache_path), "600", file_limit, vendor.name, vendor.model]
    return subprocess.Popen(
        command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )


def _wait_until_begun(vendor: Vendor, server: EmbeddingServer) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not vendor.asked(server, vendor.began):
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_server_without_batches_gets_ordinary_requests(
    vendor: Vendor, server: EmbeddingServer, make: Make
) -> None:
    server.set(batches=False)
    embedder = await make(**vendor.settings(server))

    first, _ = await embedder.documents(TEXTS)
    before = len(server.asked("")) - server.requests
    await embedder.documents([f"{text} again" for text in TEXTS])

    assert all(vector is not None for vector in first)
    assert before == len(server.asked("")) - server.requests == 1


async def test_a_job_whose_beginning_was_not_answered_is_found(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.queue({"match": "/batches", "kind": "disconnect"})
    embedder = await vendor.begun(server, make)
    ((id, _, look_in_s),) = jobs(cache_path)
    assert id is None
    assert look_in_s <= LOOK_FIRST_S + 1
    due(cache_path)

    _, took = await embedder.documents(TEXTS)

    assert took.cached == 600
    assert len(vendor.asked(server, vendor.listed)) == 1


async def test_a_job_that_is_not_on_the_first_page_is_found(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_page=1)
    server.queue({"match": "/batches", "kind": "disconnect"})
    embedder = await vendor.begun(server, make)
    for again in ("again", "and again"):
        await embedder.documents([f"{text} {again}" for text in TEXTS])
    due(cache_path)

    _, took = await embedder.documents(TEXTS)

    assert took.cached == 600
    assert len(vendor.asked(server, vendor.listed)) == 3


async def test_a_job_whose_beginning_was_answered_with_nonsense_is_found(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.queue({"match": "/batches", "kind": "null"})
    embedder = await vendor.begun(server, make)
    due(cache_path)

    _, took = await embedder.documents(TEXTS)

    assert took.cached == 600


async def test_a_job_that_never_began_is_forgotten_with_what_was_uploaded(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.queue({"match": "/batches", "kind": "lost"})
    embedder = await vendor.begun(server, make)
    due(cache_path)

    assert await embedder.collect() == 0

    assert (embedder.pending, jobs(cache_path)) == (0, [])
    assert len(vendor.asked(server, vendor.deleted)) == vendor.files - 1


@pytest.mark.parametrize(
    ("status", "words", "again"),
    [
        (400, "billing hard limit reached", 2),
        (429, "Resource has been exhausted (e.g. check quota).", 2),
        (404, "the model is not found for API version v1beta, or has no batches", 1),
        (400, "this cannot be", 1),
    ],
)
async def test_a_job_that_is_refused_goes_as_ordinary_requests(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path, status: int, words: str, again: int
) -> None:
    embedder = await make(**vendor.settings(server))
    server.queue({"match": "/batches", "status": status, "message": words})

    vectors, took = await embedder.documents(TEXTS)
    await embedder.documents([f"{text} again" for text in TEXTS])

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600
    assert len(vendor.asked(server, vendor.deleted)) == vendor.files - 1
    assert len(vendor.asked(server, vendor.began)) == again


async def test_a_job_that_the_provider_forgot_goes_as_ordinary_requests(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    server.set(batch_forgets=True)
    due(cache_path)

    vectors, took = await embedder.documents(TEXTS)

    assert all(vector is not None for vector in vectors)
    assert took.texts == 600
    assert vendor.asked(server, vendor.cancelled) == []
    assert len(vendor.asked(server, vendor.deleted)) == vendor.files - 1


async def test_a_job_is_kept_while_the_provider_is_away_and_given_up_after_a_day(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    server.set(key="another key")
    due(cache_path)
    assert await embedder.collect() == 0
    assert embedder.pending == 600
    aged(cache_path)

    assert await embedder.collect() == 0

    assert (embedder.pending, jobs(cache_path)) == (0, [])


async def test_after_a_day_jobs_are_begun_again(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    server.set(batch_end="failed")
    embedder = await vendor.begun(server, make)
    due(cache_path)
    await embedder.collect()
    allow(cache_path)

    vectors, _ = await embedder.documents(TEXTS)

    assert vectors == [None] * 600
    assert len(vendor.asked(server, vendor.began)) == 2


@pytest.mark.parametrize("kind", ["disconnect", "lost"])
async def test_a_job_is_found_or_forgotten_when_the_process_was_killed_between_note_and_answer(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path, kind: str
) -> None:
    server.queue({"match": "/batches", "kind": kind, "delay_s": 120.0})
    process = _start(vendor, server, cache_path)
    await asyncio.to_thread(_wait_until_begun, vendor, server)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)
    ((id, _, look_in_s),) = jobs(cache_path)
    assert id is None
    # Nobody else takes it for lost while it may still be about to begin.
    assert look_in_s > 2 * UPLOAD_TIMEOUT_S
    due(cache_path)
    embedder = await make(**vendor.settings(server))

    collected = await embedder.collect()

    assert collected == (600 if kind == "disconnect" else 0)
    assert jobs(cache_path) == []
    assert len(vendor.asked(server, vendor.began)) == 1


async def test_on_a_full_disk_texts_are_sent_at_once_and_nothing_stays_at_the_provider(
    vendor: Vendor, server: EmbeddingServer, cache_path: Path
) -> None:
    process = _start(vendor, server, cache_path, file_limit="100000")

    out, errors = await asyncio.to_thread(process.communicate, timeout=LIMIT_S)

    assert out.split() == ["600", "384"], errors
    assert vendor.asked(server, vendor.began) == vendor.asked(server, vendor.uploaded) == []


async def test_a_job_whose_note_cannot_be_read_is_left_alone(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path
) -> None:
    embedder = await vendor.begun(server, make)
    due(cache_path)
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT RAISE(FAIL, 'disk is full'); END")

    assert await embedder.collect() == 0

    assert vendor.asked(server, vendor.looked) == []


async def test_the_key_is_in_no_log(
    vendor: Vendor, server: EmbeddingServer, make: Make, cache_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.set(batch_end="failed", batch_reason="the key the-right-key is over its limit")
    embedder = await vendor.begun(server, make)
    server.set(key="another key")
    due(cache_path)
    await embedder.collect()
    server.set(key=None)
    due(cache_path)
    await embedder.collect()
    allow(cache_path)
    server.queue({"match": "/batches", "status": 400, "message": "the-right-key may not"})
    await embedder.documents(TEXTS)

    assert "over its limit" in caplog.text
    assert "may not" in caplog.text
    assert "the-right-key" not in caplog.text
