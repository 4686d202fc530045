"""Chroma in this process: a call that does not come back, and a store that is opened again where one was damaged."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from hub.memory.engine_contract import EngineUnavailable, IndexDamaged
from integrations.memory.chroma.bounded_thread import BoundedThread
from integrations.memory.chroma.engine import open_vectors
from tests.integrations.memory.engines.kinds import DIMENSIONS, vector


def test_a_call_gives_what_it_returns_or_raises() -> None:
    thread = BoundedThread("a thread of the test")

    assert thread.call(lambda: 7, 5) == 7
    with pytest.raises(ValueError, match="no number"):
        thread.call(lambda: int("no number"), 5)

    thread.close()
    assert not BoundedThread.is_left("a thread of the test")


def test_after_a_call_that_does_not_come_back_nothing_is_waited_for() -> None:
    thread = BoundedThread("a stuck thread of the test")
    release = threading.Event()

    with pytest.raises(TimeoutError):
        thread.call(release.wait, 0.01)
    with pytest.raises(TimeoutError, match="earlier"):
        thread.call(lambda: 7, 60)
    thread.close()

    assert BoundedThread.is_left("a stuck thread of the test")
    release.set()


def test_a_store_that_hangs_in_this_process_is_not_opened_once_more(tmp_path: Path) -> None:
    # It takes a second to load, which each worker would spend that only collects this file.
    from integrations.memory.chroma.embedded import EmbeddedCollections

    release = threading.Event()
    stuck = BoundedThread(f"chroma {tmp_path / 'chroma'}")
    with pytest.raises(TimeoutError):
        stuck.call(release.wait, 0.01)

    with pytest.raises(EngineUnavailable, match="restart the hub"):
        EmbeddedCollections(tmp_path / "chroma", 5)

    release.set()
    stuck.close()


def test_a_store_can_be_made_anew_where_a_damaged_one_was(tmp_path: Path) -> None:
    index = open_vectors(tmp_path / "vectors", DIMENSIONS, {})
    index.apply((), [(1, "private", vector(1))])
    index.close()
    database = tmp_path / "vectors" / "chroma" / "chroma.sqlite3"
    database.unlink()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE migrations (strange)")
        connection.execute("INSERT INTO migrations VALUES (1)")
        connection.commit()
    with pytest.raises(IndexDamaged):
        open_vectors(tmp_path / "vectors", DIMENSIONS, {})

    shutil.rmtree(tmp_path / "vectors")
    again = open_vectors(tmp_path / "vectors", DIMENSIONS, {})

    again.apply((), [(1, "private", vector(1))])
    assert again.ids() == {1}
    again.close()
