"""Two hubs on one directory: the second is refused and told who the first is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from hub.storage.database import Database
from hub.storage.instance_lock import AlreadyRunning, InstanceLock, Running, read_running
from hub.storage.migrations import HUB_MIGRATIONS
from tests.servers.forked import ForkedProcess

ROOT = Path(__file__).parents[2]


@contextmanager
def holder(home: Path, *arguments: str) -> Iterator[tuple[ForkedProcess, str]]:
    with ForkedProcess("tests.storage.lock_holder", str(home), *arguments, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        try:
            yield process, said
        finally:
            process.kill()


def test_the_second_hub_is_told_who_the_first_is(tmp_path: Path) -> None:
    with holder(tmp_path, "18789") as (process, said):
        assert said == "held"

        with pytest.raises(AlreadyRunning) as refused:
            InstanceLock(tmp_path).acquire()

        assert f"process {process.pid}" in refused.value.message
        assert "http://127.0.0.1:18789" in refused.value.message
        assert str(tmp_path) in refused.value.message
        assert refused.value.running is not None
        assert refused.value.running.started > 0


def test_a_hub_that_still_starts_has_no_address_yet(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, _), pytest.raises(AlreadyRunning, match=f"{process.pid}.*still starting"):
        InstanceLock(tmp_path).acquire()


def test_of_two_that_start_at_once_one_gets_it(tmp_path: Path) -> None:
    with holder(tmp_path) as (_, first), holder(tmp_path) as (_, second), holder(tmp_path) as (_, third):
        assert [first, second, third].count("held") == 1


def test_a_killed_hub_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path, "18789") as (process, _):
        process.kill()
        process.wait()

        assert read_running(tmp_path) is None
        lock = InstanceLock(tmp_path)
        assert lock.acquire().pid == os.getpid()
        lock.release()


def test_whoever_runs_can_be_found(tmp_path: Path) -> None:
    assert read_running(tmp_path) is None
    with holder(tmp_path, "18789") as (process, _):
        running = read_running(tmp_path)

    assert running is not None
    assert (running.pid, running.host, running.port) == (process.pid, "127.0.0.1", 18789)


def test_a_lock_is_taken_again_after_it_was_given_up(tmp_path: Path) -> None:
    first = InstanceLock(tmp_path)
    first.acquire()
    first.release()
    first.release()

    second = InstanceLock(tmp_path)

    assert second.acquire().pid == os.getpid()
    second.release()


def test_one_process_cannot_take_it_twice(tmp_path: Path) -> None:
    first = InstanceLock(tmp_path)
    first.acquire()

    with pytest.raises(AlreadyRunning):
        InstanceLock(tmp_path).acquire()

    first.release()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"pid": "x", "started": 1}', b"\xff" * 5000])
def test_a_damaged_lock_file_tells_of_nobody(tmp_path: Path, content: bytes) -> None:
    first = InstanceLock(tmp_path)
    first.acquire()
    (tmp_path / ".storage" / "hub.lock").write_bytes(content)

    assert read_running(tmp_path) is None
    first.release()


def test_a_damaged_lock_file_still_keeps_the_second_out(tmp_path: Path) -> None:
    first = InstanceLock(tmp_path)
    first.acquire()
    (tmp_path / ".storage" / "hub.lock").write_bytes(b"{")

    with pytest.raises(AlreadyRunning, match="another hub already runs"):
        InstanceLock(tmp_path).acquire()

    first.release()


def test_a_symlink_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".storage").mkdir()
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".storage" / "hub.lock").symlink_to(tmp_path / "victim")

    with pytest.raises(OSError, match="symbolic link"):
        InstanceLock(tmp_path).acquire()

    assert read_running(tmp_path) is None
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("192.0.2.7", "http://192.0.2.7:80"),
    ],
)
def test_the_address_is_one_that_can_be_connected_to(host: str, address: str) -> None:
    assert Running(1, 0.0, host, 80).address == address


@pytest.mark.parametrize("module", ["hub.storage.instance_lock", "hub.security.hub_token"])
def test_what_the_command_line_needs_is_standard_library_only(module: str) -> None:
    script = (
        f"import sys; before = set(sys.modules); import {module}; "
        "print([m for m in set(sys.modules) - before "
        "if m.split('.')[0] not in sys.stdlib_module_names and m.split('.')[0] != 'hub'])"
    )

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


async def test_a_second_hub_is_refused_a_store_by_whatever_path_it_comes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = Database(tmp_path / "one" / "hub.db", HUB_MIGRATIONS)
    await first.open()
    await first.write(lambda connection: connection.execute("INSERT INTO meta(key, value) VALUES ('whose', 'first')"))
    (tmp_path / "two" / "hub.db").symlink_to(tmp_path / "one" / "hub.db")
    second = Database(tmp_path / "two" / "hub.db", HUB_MIGRATIONS)

    with pytest.raises(AlreadyRunning, match=rf"another hub \(process {os.getpid()}, .* already holds .*hub\.db; stop"):
        await second.open()
    await second.close()
    await first.close()

    assert [each.name for each in (tmp_path / "one").iterdir()] == ["hub.db"]
    third = Database(tmp_path / "two" / "hub.db", HUB_MIGRATIONS)
    await third.open()
    kept = "SELECT value FROM meta WHERE key = 'whose'"
    found = await third.read(lambda connection: connection.execute(kept).fetchone()[0])
    await third.close()
    assert found == "first"
