"""Changes of files, as the system reports them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from hub.core.file_changes import WatchOptions, file_changes

OPTIONS = WatchOptions(debounce_ms=100, step_ms=10)


async def test_a_change_right_after_the_beginning_is_reported(tmp_path: Path) -> None:
    async with aclosing(await file_changes([tmp_path], None, asyncio.Event(), OPTIONS)) as changes:
        (tmp_path / "note.md").write_text("x")

        assert {Path(path).name for _, path in await anext(changes)} == {"note.md"}


async def test_only_changes_that_count_are_reported(tmp_path: Path) -> None:
    def keep(_change: object, path: str) -> bool:
        return path.endswith(".yaml")

    async with aclosing(await file_changes([tmp_path], keep, asyncio.Event(), OPTIONS)) as changes:
        (tmp_path / "note.md").write_text("x")
        (tmp_path / "items.yaml").write_text("x")

        assert {Path(path).name for _, path in await anext(changes)} == {"items.yaml"}


async def test_it_ends_when_it_is_stopped(tmp_path: Path) -> None:
    stop = asyncio.Event()
    changes = await file_changes([tmp_path], None, stop, OPTIONS)

    stop.set()

    assert [each async for each in changes] == []


async def test_cancelling_who_waits_ends_the_watch(tmp_path: Path) -> None:
    stop = asyncio.Event()
    changes = await file_changes([tmp_path], None, stop, OPTIONS)
    waiting = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert stop.is_set()


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await file_changes([tmp_path / "missing"], None, asyncio.Event(), OPTIONS)
