"""Backups of a real hub while messages are written, each restored and compared."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.backup.create import create_backup
from hub.backup.job import CreateOptions
from hub.backup.restore import stage
from hub.backup.swap import commit, finish
from hub.storage.homedir import Home
from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.lengths import rounds
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess

BACKUPS = rounds(200, 20)
TALKERS = 3


class Talkers:
    """People who write one message after another, each in a conversation of their own; what was taken is counted."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._taken: list[str] = []
        self._threads = [threading.Thread(target=self._talk, args=(number,)) for number in range(TALKERS)]

    def __enter__(self) -> Talkers:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join(60)

    def taken(self) -> list[str]:
        """The runs whose message was acknowledged."""
        with self._lock:
            return list(self._taken)

    def more_than(self, count: int) -> list[str]:
        """Wait until so many and one more were taken; return them all."""
        return until(lambda: taken if len(taken := self.taken()) > count else [])

    def _talk(self, number: int) -> None:
        count = 0
        while not self._stop.is_set():
            count += 1
            run = f"talker-{number}-{count}"
            said = {"sessionKey": f"agent:main:talk-{number}", "message": f"hello {count}", "idempotencyKey": run}
            self._hub.rpc("chat.send", said)
            with self._lock:
                self._taken.append(run)
            self._hub.rpc("agent.wait", {"runId": run, "timeoutMs": 30_000})


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    with OpenAIServerProcess() as server:
        server.set_default({"text": "A long answer, so that a transcript is often in the middle of a line. " * 20})
        with HubProcess(make_home(tmp_path / "home", MODELS.format(base_url=server.base_url))) as hub:
            yield hub


def query(home: Home, sql: str) -> list[Any]:
    connection = sqlite3.connect(home.hub_db)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def entries(home: Home) -> list[dict[str, Any]]:
    """All entries of all transcripts; each line is whole."""
    found = []
    for path in home.agents.glob("*/sessions/*.jsonl"):
        data = path.read_bytes()
        assert data.endswith(b"\n") or not data, f"{path} ends in the middle of a line"
        found += [json.loads(line) for line in data.splitlines()]
    return found


def test_each_backup_under_load_is_a_home(hub: HubProcess, tmp_path: Path) -> None:
    home, folder, fresh = Home(hub.home), tmp_path / "made", Home(tmp_path / "fresh")
    with Talkers(hub) as talkers:
        before: list[str] = []
        for number in range(BACKUPS):
            before = talkers.more_than(max(len(before), TALKERS - 1))
            made = create_backup(home, CreateOptions(str(folder), "Load", "0.2.0", 1_796_000_000_000 + number * 1000))
            after = set(talkers.taken())

            fresh.create()
            stage(fresh, folder / made.name, "", 1_797_000_000_000)
            commit(fresh, "x", ())
            finish(fresh)

            runs = dict(query(fresh, "SELECT id, state FROM runs"))
            told = {each.get("run_id") for each in entries(fresh) if each.get("data", {}).get("final")}
            assert set(before) <= set(runs), "what was acknowledged before is in it"
            assert len(set(runs) - after) <= TALKERS, "what came after is not"
            assert {id for id, state in runs.items() if state == "answered"} <= told, "no answer is without its words"
            assert query(fresh, "SELECT count(*) FROM inbox WHERE state IN ('received', 'queued')") == [(0,)]
            assert query(fresh, "PRAGMA integrity_check") == [("ok",)]
            assert (fresh.path / "configuration.yaml").read_text() == (home.path / "configuration.yaml").read_text()
            shutil.rmtree(fresh.path)
            (folder / made.name).unlink()


def test_a_restored_home_starts_and_answers_nothing_again(hub: HubProcess, tmp_path: Path) -> None:
    home, fresh = Home(hub.home), Home(tmp_path / "fresh")
    with Talkers(hub) as talkers:
        talkers.more_than(TALKERS * 2)
        made = create_backup(home, CreateOptions(str(tmp_path / "made"), "Load", "0.2.0", 1_796_000_000_000))
    fresh.create()
    stage(fresh, tmp_path / "made" / made.name, "", 1_796_000_100_000)
    commit(fresh, "x", ())
    finish(fresh)
    before = len(entries(fresh))

    with HubProcess(fresh.path) as restored:
        restored.rpc("status")
        answered = query(fresh, "SELECT count(*) FROM runs WHERE state IN ('queued', 'running')")

    assert answered == [(0,)]
    assert len(entries(fresh)) == before
