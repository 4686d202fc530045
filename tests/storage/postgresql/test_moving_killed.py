"""kill -9 while a home moves: whatever the moment, one side is in charge, and doing it again completes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from subprocess import PIPE

import pytest

from hub.sessions.transcript_moving import carry
from hub.storage.database import Database
from hub.storage.document_table import is_document
from hub.storage.moving import HomeMoved, contents, hub_tables, refuse_moved
from tests.lengths import LONG
from tests.servers.forked import ForkedProcess
from tests.servers.postgresql import PostgresqlServer
from tests.storage.postgresql.test_moving import Moved

LAST = 2
"""The writes around the decision; each of them is tried in every run."""


@pytest.fixture
async def moved(tmp_path: Path, server: PostgresqlServer, name: str) -> Moved:
    moved = Moved(tmp_path / "home", server.url(name))
    await moved.fill()
    moved.put("skills.json", b"{}")
    moved.put("integrations/matrix/login-me.json", b'{"token": "secret"}')
    return moved


def run(moved: Moved, to: str, last: int) -> int | None:
    """Move the home until the chosen write; return how many there were, if it was not killed."""
    with ForkedProcess(
        "tests.storage.postgresql.moving_process", str(moved.home), moved.url, to, str(last), stdout=PIPE
    ) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        process.wait(60)
    return int(told) if told else None


async def is_in_charge(db: Database) -> bool:
    """Whether a hub starts on this side."""
    await db.open()
    try:
        await refuse_moved(db)
    except HomeMoved:
        return False
    finally:
        await db.close()
    return True


async def rows(db: Database) -> dict[str, object]:
    await db.open()
    carried = [each for each in hub_tables() if each.name not in ("transcript", "transcripts", "documents", "meta")]
    found: dict[str, object] = {each.name: await contents(db, each) for each in carried}
    await db.close()
    return found


def moments(writes: int) -> Iterator[int]:
    """The writes before which it is killed: all in a long run, else one, and those at the end."""
    yield from range(1, writes + 1) if LONG else (writes // 2, *range(writes - LAST, writes + 1))


@pytest.mark.timeout(1_800)  # a long run kills it before each of its writes
async def test_one_side_is_in_charge_and_nothing_is_lost(moved: Moved) -> None:
    files, small, kept = moved.files(), moved.small_files(), await rows(moved.here())
    out = run(moved, "postgresql", 0)
    back = run(moved, "sqlite", 0)
    assert out is not None
    assert back is not None
    charges = []

    for one, other in zip_longest(moments(out), moments(back), fillvalue=1):
        run(moved, "postgresql", one)
        charges.append([await is_in_charge(moved.there()), await is_in_charge(moved.here())])
        await carry(moved.home, moved.here(), moved.there())
        assert await rows(moved.there()) == kept

        run(moved, "sqlite", other)
        charges.append([await is_in_charge(moved.there()), await is_in_charge(moved.here())])
        await carry(moved.home, moved.there(), moved.here())
        assert await rows(moved.here()) == kept
        assert (moved.files(), moved.small_files()) == (files, small)

    assert [each for each in charges if sum(each) != 1] == []
    assert [True, False] in charges
    assert all(is_document(name) for name in small)
