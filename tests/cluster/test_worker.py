"""Whole workers: real processes that carry real homes, take over from one another, and leave tidily."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from hub.storage.instance_lock import read_running
from hub.update.record import EXIT_AGAIN
from tests.cluster.worker_process import WorkerProcess, make_home
from tests.servers.postgresql import PostgresqlServer
from tests.until import until

pytestmark = pytest.mark.slow


@pytest.fixture
def url(server: PostgresqlServer, name: str) -> str:
    """The address of the database of this test."""
    return server.url(name)


async def test_a_killed_workers_homes_answer_at_the_other_one(
    url: str, server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    elm, oak = [await make_home(url, tmp_path, each) for each in ("elm", "oak")]
    async with WorkerProcess("first", url, tmp_path) as first:
        assert await first.until_answered(elm, "2+2") == "2+2 = 4"
        assert await first.until_answered(oak, "3+3") == "3+3 = 6"
        assert "[elm]" in first.log
        assert "[oak]" in first.log
        running = read_running(tmp_path / "elm")
        assert running is not None
        assert running.port == first.port
        async with WorkerProcess("second", url, tmp_path) as second:
            assert await second.until_answered(elm, "4+4") == "4+4 = 8"  # over the first one, whose home it is
            assert "[elm]" not in second.log

            first.send(signal.SIGKILL)

            assert await second.until_answered(elm, "5+5") == "5+5 = 10"
            assert await second.until_answered(oak, "6+6") == "6+6 = 12"
    left = server.execute("SELECT count(*) FROM homarus.workers WHERE name = 'first'", name)
    assert left == [(0,)]


async def test_a_frozen_workers_homes_answer_at_the_other_one_and_it_ends_when_it_wakes(
    url: str, tmp_path: Path
) -> None:
    elm = await make_home(url, tmp_path, "elm")
    async with WorkerProcess("first", url, tmp_path) as first, WorkerProcess("second", url, tmp_path) as second:
        await first.until_answered(elm, "2+2")
        owner, other = (first, second) if "[elm]" in first.log else (second, first)

        owner.send(signal.SIGSTOP)
        assert await other.until_answered(elm, "3+3") == "3+3 = 6"
        owner.send(signal.SIGCONT)

        assert await owner.wait() == EXIT_AGAIN
        assert "has taken this one for dead" in owner.log
        assert await other.until_answered(elm, "4+4") == "4+4 = 8"


async def test_a_worker_that_is_told_to_end_gives_its_homes_up(
    url: str, server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    elm = await make_home(url, tmp_path, "elm")
    async with WorkerProcess("first", url, tmp_path) as first:
        await first.until_answered(elm, "2+2")

        first.send(signal.SIGTERM)

        assert await first.wait() == 0
    assert server.execute("SELECT name FROM homarus.workers", name) == []
    assert server.execute("SELECT home FROM homarus.owners", name) == []
    [(owner, wanted)] = server.execute("SELECT owner, wanted IS NOT NULL FROM homarus.homes", name)
    assert (owner, bool(wanted)) == (None, True)
    assert read_running(tmp_path / "elm") is None


async def test_a_home_that_asks_for_programs_on_the_machine_is_refused_by_name_and_the_others_run_on(
    url: str, server: PostgresqlServer, name: str, tmp_path: Path
) -> None:
    elm, oak = [await make_home(url, tmp_path, each) for each in ("elm", "oak")]
    (tmp_path / "elm" / "custom_integrations" / "mine").mkdir(parents=True)
    async with WorkerProcess("first", url, tmp_path) as first:
        assert await first.until_answered(oak, "2+2") == "2+2 = 4"

        status, said = await first.ask(elm, "3+3")

        assert status == 503, json.dumps(said)
        await until(lambda: "holds program code" in first.log)
    [(problem,)] = server.execute("SELECT problem FROM homarus.homes WHERE name = 'elm'", name)
    assert "custom_integrations holds program code" in problem
