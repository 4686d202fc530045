"""Damage of any file of the index is noticed, at the opening or in use, and the index is whole again afterwards."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from hub.memory.contract import Verified
from integrations.memory.notes.index.checking import verify
from integrations.memory.notes.job import FILE_LIMIT_BYTES
from tests.integrations.memory.index.conftest import Notes, Shelf

NUMBERS = 40


def write_many(notes: Notes) -> None:
    for number in range(NUMBERS):
        notes.write(
            f"memory/note-{number}.md", f"# Note {number}\n\nThe unique{number} thing\n\n## More\n\nIt is red\n"
        )


def spoil(path: Path, how: str, chance: random.Random) -> None:
    data = path.read_bytes()
    match how:
        case "deleted":
            path.unlink()
        case "emptied":
            os.truncate(path, 0)
        case "cut":
            os.truncate(path, len(data) // 2)
        case "flipped":
            places = [chance.randrange(len(data)) for _ in range(20)] if data else []
            with path.open("r+b") as file:
                for place in places:
                    file.seek(place)
                    file.write(bytes([data[place] ^ 0xFF]))


async def checked(shelf: Shelf) -> Verified:
    """Verify until all agrees: what was named once is repaired."""
    while True:
        await shelf.settled("unique7")
        verified = await verify(shelf.index)
        if not verified.problems:
            return verified


@pytest.mark.parametrize("how", ["deleted", "emptied", "cut", "flipped"])
@pytest.mark.parametrize("when", ["open", "closed"])
async def test_a_spoilt_file_of_the_index_is_noticed_and_replaced(shelf: Shelf, how: str, when: str) -> None:
    notes = shelf.notes
    write_many(notes)
    await shelf.index.sync()
    await shelf.index.close()
    names = [path.relative_to(notes.version) for path in notes.version.rglob("*") if path.is_file()]
    chance = random.Random(f"{how} {when}")
    for name in [*names, Path("../current")]:
        await shelf.reopen()
        await shelf.settled("unique7")
        if when == "closed":
            await shelf.index.close()
        if (path := notes.version / name).exists():
            spoil(path, how, chance)
        if when == "closed":
            await shelf.reopen()

        answer = await shelf.settled("unique7")

        assert answer.hits[0].path == "memory/note-7.md"
        assert (await checked(shelf)).files == NUMBERS


async def test_an_index_that_is_replaced_while_it_is_compared_is_not_called_damaged(shelf: Shelf) -> None:
    write_many(shelf.notes)
    await shelf.index.sync()
    old = shelf.index.version
    hold = shelf.readers.hold_next()
    verifying = asyncio.create_task(verify(shelf.index))
    await asyncio.to_thread(hold.begun.wait)

    await shelf.index.sync(force=True)
    hold.over.set()

    assert await verifying == Verified(NUMBERS, NUMBERS * 2, [], repaired=False)
    assert shelf.index.version is not old


async def test_what_no_index_can_bring_in_is_named_and_nothing_is_repaired_for_it(shelf: Shelf) -> None:
    shelf.notes.write("memory/long.md", "a" * (FILE_LIMIT_BYTES + 1))
    shelf.notes.write("memory/short.md", "The kettle leaks\n")
    await shelf.index.sync()

    verified = await verify(shelf.index)

    assert [problem.rpartition(": ")[0] for problem in verified.problems] == ["memory/long.md: it is left out"]
    assert "cut it into several" in verified.problems[0]
    assert verified.repaired is False
