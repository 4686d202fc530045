"""The watch over directories of skills: a change is noticed, and folders that come later are watched too."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hub.skills.watch import watch_folders

LIMIT_S = 30.0


async def test_changes_are_noticed_in_folders_that_are_there_and_in_those_that_come(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    moved, changed = asyncio.Event(), asyncio.Event()

    async def note() -> None:
        changed.set()

    task = asyncio.create_task(watch_folders(lambda: [folder] if folder.exists() else [], moved, note))
    try:
        folder.mkdir()
        moved.set()
        async with asyncio.timeout(LIMIT_S):
            while not changed.is_set():  # the watch begins at some moment: until then, nothing is noticed
                (folder / "SKILL.md").write_text("x")
                await asyncio.sleep(0.05)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert changed.is_set()
