"""Carries a home over like `homarus storage move`, and kills itself before a chosen write; tells how many it made."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hub.core.sql import SqlConnection
from hub.sessions.transcript_moving import carry
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Target

T = TypeVar("T")


class Countdown:
    """Counts the writes of both sides; before the chosen one the process is gone."""

    def __init__(self, last: int) -> None:
        self.last, self.begun = last, 0

    def step(self) -> None:
        self.begun += 1
        if self.begun == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalFile(Database):
    countdown: Countdown

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        self.countdown.step()
        return await super().write(fn)


class MortalServer(PostgresqlDatabase):
    countdown: Countdown

    async def write(self, fn: Callable[[SqlConnection], T]) -> T:
        self.countdown.step()
        return await super().write(fn)


async def main(folder: str, url: str, to: str, last: int) -> None:
    home, countdown = Home(Path(folder)), Countdown(last)
    here = MortalFile(home.hub_db, HUB_MIGRATIONS)
    there = MortalServer(Target.from_url(url, "elm"), HUB_MIGRATIONS, home.hub_db)
    here.countdown = there.countdown = countdown
    await carry(home, *((here, there) if to == "postgresql" else (there, here)))
    os.write(1, f"{countdown.begun}\n".encode())


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
