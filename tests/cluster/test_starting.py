"""What a worker makes as it starts: the secret of all workers, and a folder for its sockets that is its own."""

from __future__ import annotations

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from hub.storage.errors import StorageError
from hub.worker import SECRET_FILE, private_folder, shared_secret
from tests.cluster.worker_process import PROGRAM, ROOT

NOWHERE = "postgresql://127.0.0.1:1/x"
TOGETHER, ROUNDS = 8, 50


def test_workers_that_start_together_have_the_same_secret(tmp_path: Path) -> None:
    begin = Barrier(TOGETHER)

    def start(homes: Path) -> str:
        begin.wait()
        return shared_secret(homes).reveal()

    with ThreadPoolExecutor(TOGETHER) as pool:
        for homes in (tmp_path / str(number) for number in range(ROUNDS)):
            found = set(pool.map(start, [homes] * TOGETHER))

            assert len(found) == 1
            assert [each.name for each in homes.iterdir()] == [SECRET_FILE]
            assert stat.S_IMODE((homes / SECRET_FILE).stat().st_mode) == 0o600


def test_a_folder_for_sockets_is_new_private_and_removed(tmp_path: Path) -> None:
    with private_folder(tmp_path) as first, private_folder(tmp_path) as second:
        assert first.parent == second.parent == tmp_path
        assert first != second
        assert stat.S_IMODE(first.stat().st_mode) == 0o700

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match=r"for sockets in .*nowhere"), private_folder(tmp_path / "nowhere"):
        pass


def test_a_worker_takes_no_folder_that_somebody_made_for_it_and_leaves_none(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    theirs = shared / f"homarus-{os.getuid()}"
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)
    before = theirs.stat().st_mtime_ns
    own = {name: value for name, value in os.environ.items() if name not in {"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"}}

    ran = subprocess.run(
        (*PROGRAM, "worker", "--homes", str(tmp_path / "homes"), "--database", NOWHERE),
        env={**own, "TMPDIR": str(shared)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "cannot be reached" in ran.stderr
    assert list(shared.iterdir()) == [theirs]
    assert theirs.stat().st_mtime_ns == before
