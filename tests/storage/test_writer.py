"""The writer at its limits: statements without end, more than it can take, and failures inside a batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hub.core.errors import LimitExceeded, TimedOut, Unavailable
from hub.core.sql import SqlConnection
from hub.storage.connection import connect, create
from hub.storage.writer import WAITING_LIMIT, Writer

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) INSERT INTO t SELECT x FROM n WHERE x < 0"


IMPATIENT = pytest.mark.parametrize("writer", [0.2], indirect=True)
"""For endless statements alone: on a busy machine an honest one takes longer."""


@pytest.fixture
async def writer(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Writer]:
    path = tmp_path / "t.db"
    with create(path) as connection:
        connection.execute("CREATE TABLE t(x)")
    connection.close()
    limit_s: float = getattr(request, "param", 60.0)
    writer = Writer(
        path, lambda: connect(path), post_delay_s=0.01, on_damage=lambda _error: None, statement_limit_s=limit_s
    )
    await writer.start()
    yield writer
    await writer.stop()


def put(number: int) -> Callable[[SqlConnection], int]:
    return lambda connection: connection.execute("INSERT INTO t VALUES(?)", (number,)).rowcount


def rows(connection: SqlConnection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT x FROM t ORDER BY x")]


async def held(writer: Writer) -> tuple[threading.Event, asyncio.Future[None]]:
    """Keep the writer busy until the event is set."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_connection: SqlConnection) -> None:
        begun.set()
        go_on.wait(timeout=30)

    busy = writer.submit(wait)
    await asyncio.to_thread(begun.wait, 30)
    return go_on, busy


@IMPATIENT
async def test_a_statement_without_end_is_stopped_and_told(writer: Writer) -> None:
    with pytest.raises(TimedOut, match="took longer than"):
        await writer.submit(lambda connection: connection.execute(ENDLESS))

    assert await writer.submit(put(1)) == 1


async def test_what_waits_meanwhile_shares_the_next_commit(writer: Writer) -> None:
    go_on, busy = await held(writer)
    waiting = [writer.submit(put(number)) for number in range(100)]
    before = writer.commits
    go_on.set()
    await busy

    await asyncio.gather(*waiting)

    assert writer.commits - before == 2
    assert await writer.submit(rows) == list(range(100))


@IMPATIENT
async def test_a_statement_without_end_takes_its_batch_with_it_and_each_is_told(writer: Writer) -> None:
    go_on, busy = await held(writer)
    waiting = [
        writer.submit(put(1)),
        writer.submit(lambda connection: connection.execute(ENDLESS)),
        writer.submit(put(2)),
    ]
    go_on.set()
    await busy

    outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    kept = await writer.submit(rows)
    acknowledged = [number for number, outcome in ((1, outcomes[0]), (2, outcomes[2])) if outcome == 1]
    assert isinstance(outcomes[1], TimedOut)
    assert kept == acknowledged


async def test_failures_inside_a_batch_are_each_their_own(writer: Writer) -> None:
    def fails(connection: SqlConnection) -> None:
        connection.execute("INSERT INTO t VALUES(1000)")
        raise LookupError("on purpose")

    go_on, busy = await held(writer)
    waiting = [writer.submit(fails if number % 3 == 0 else put(number)) for number in range(30)]
    go_on.set()
    await busy

    outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert [isinstance(outcome, LookupError) for outcome in outcomes] == [number % 3 == 0 for number in range(30)]
    assert await writer.submit(rows) == [number for number in range(30) if number % 3]


async def test_cancelled_before_its_turn_is_not_done(writer: Writer) -> None:
    go_on, busy = await held(writer)
    waiting = [writer.submit(put(number)) for number in range(3)]
    waiting[1].cancel()
    go_on.set()
    await busy
    await asyncio.gather(waiting[0], waiting[2])

    assert await writer.submit(rows) == [0, 2]


async def test_more_than_can_wait_is_refused_and_counted(writer: Writer) -> None:
    go_on, busy = await held(writer)
    for number in range(WAITING_LIMIT):
        assert writer.post(put(number))

    with pytest.raises(LimitExceeded, match="does not keep up"):
        writer.submit(put(-1))
    refused = writer.post(put(-1))
    go_on.set()
    await busy

    assert refused is False
    assert writer.rejected == 2
    assert len(await answered(writer)) == WAITING_LIMIT


async def answered(writer: Writer) -> list[int]:
    """Return the rows once there is room again to ask for them."""
    while True:
        try:
            found: list[int] = await writer.submit(rows)
            return found
        except LimitExceeded:
            await asyncio.sleep(0.01)


async def test_stopping_writes_what_waits(writer: Writer) -> None:
    go_on, busy = await held(writer)
    waiting = [writer.submit(put(number)) for number in range(10)]
    stopping = asyncio.ensure_future(writer.stop())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        writer.submit(put(99))
    go_on.set()

    await stopping

    assert await asyncio.gather(*waiting) == [1] * 10
    await busy


async def test_a_posted_write_that_failed_is_logged_by_its_name_and_no_other(
    writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    def misspelt(connection: SqlConnection) -> None:
        connection.execute("INSERT INTO nowhere VALUES(1)")

    writer.post(put(1))
    writer.post(misspelt)
    writer.post(put(2))

    assert await writer.submit(rows) == [1, 2]
    [logged] = [record.getMessage() for record in caplog.records if record.name == "hub.storage.writer"]
    assert "misspelt" in logged
    assert "nowhere" in logged


async def test_work_that_wants_to_exit_ends_nothing_but_itself(writer: Writer) -> None:
    def leave(_connection: SqlConnection) -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit"):
        await writer.submit(leave)

    assert await writer.submit(put(1)) == 1
