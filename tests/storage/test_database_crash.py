"""kill -9 in the middle of writes: the file is sound, and every write that was acknowledged is in it."""

from __future__ import annotations

from pathlib import Path
from subprocess import PIPE

from hub.storage.database import Database
from hub.storage.inspection import inspect_database
from hub.storage.migrations import HUB_MIGRATIONS
from tests.lengths import rounds
from tests.servers.forked import ForkedProcess

ROUNDS = rounds(10, 3)
ROOT = Path(__file__).parents[2]


def acknowledged_until_killed(path: Path, round_name: str, after: int) -> list[str]:
    """Run the writer, kill it after so many acknowledgements, and return all it told."""
    with ForkedProcess("tests.storage.crash_writer", str(path), round_name, stdout=PIPE) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(after)]
        process.kill()
        told += process.stdout.readlines()
    return [line.strip() for line in told if line.endswith("\n")]


async def test_kill_9_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    acknowledged: list[str] = []

    for number in range(ROUNDS):
        acknowledged += acknowledged_until_killed(path, f"r{number}", after=50 + 97 * number)
        database = Database(path, HUB_MIGRATIONS)
        await database.open()
        kept = await database.read(lambda c: {row[0] for row in c.execute("SELECT key FROM meta")})
        await database.close()

        assert inspect_database(path, HUB_MIGRATIONS, runs=False) == []
        assert database.damage is None
        assert set(acknowledged) <= kept

    assert len(acknowledged) > 50 * ROUNDS
