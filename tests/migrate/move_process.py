"""A process that carries a move out or takes it back, over a real home, and kills itself at one of its steps."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from hub.cli.configured import editor_of, sections_of
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.entities.registry import FILE, VERSION, HomeRegistry
from hub.migrate.job import MoveJob
from hub.migrate.moves import Moves
from hub.migrate.plan import Move
from hub.migrate.planning import plan
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.versioned_file import VersionedFile

STEPS = frozenset({"os.rename", "os.mkdir", "os.rmdir", "os.remove"})


async def run(home: Home, source: Any, path: str, command: str) -> None:
    """Do it with the parts of the hub that a move touches."""
    tasks, clock = TaskOwner("move"), Clock()
    bus = EventBus(tasks)
    db = Database(home.hub_db, HUB_MIGRATIONS)
    sessions = SessionStore(db, home, clock, bus)
    registry = HomeRegistry(VersionedFile(home.path / FILE, VERSION), bus, StateMachine(bus), tasks)

    async def make(job: MoveJob) -> Move:
        return plan(job, sections_of(home.path))

    async def reload() -> None:
        return None

    await db.open()
    await sessions.open()
    await registry.open()
    moves = Moves(
        home.path,
        editor_of(home.path),
        registry=registry,
        sessions=sessions,
        clock=clock,
        reload=reload,
        changed=lambda _: None,
        make=make,
    )
    job = MoveJob(source, path, str(home.path), secrets=True, switched_off=True)
    await (moves.apply(job, None, None) if command == "apply" else moves.undo())
    await registry.close()
    await sessions.close()
    await db.close()
    await tasks.cancel_all()


def main() -> None:
    """Take the home, the source, its folder, the command, and after how many steps it dies; print how many it took."""
    folder, source, path, command, last = sys.argv[1:]
    home = Home(Path(folder))
    taken = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal taken
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in STEPS or writes) and taken == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        taken += event in STEPS or bool(writes)

    sys.addaudithook(count)
    asyncio.run(run(home, source, path, command))
    print(taken)


if __name__ == "__main__":
    main()
