"""A whole hub that is killed while people write to it, on each channel: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import ClientConnectionError

from tests.channels.kit import ADA, Can, Rig
from tests.channels.registry import rigs_that
from tests.e2e.homes import MODELS, make_home
from tests.lengths import rounds
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer

KILLS = rounds(20, 1)
LIMIT_S = 60.0
LOOK_S = 0.05
SETTINGS = "messages: {queue: {mode: followup, debounce_ms: 0}, inbound: {debounce_ms: 0}}\n"
OPEN = (
    "SELECT state, message, reason FROM inbox WHERE state IN ('received', 'queued')"
    " UNION ALL SELECT state, text, error FROM outbox WHERE state IN ('queued', 'sending')"
)


class KilledHub:
    """A hub in a process of its own, to which Ada writes."""

    def __init__(self, folder: Path, rig: Rig, base_url: str) -> None:
        self.rig = rig
        person = {"id": "me", "name": "Me", "owner": True, "identities": [rig.identity(ADA)]}
        sections = {"people": [person], rig.name: [rig.section()]}
        text = "".join(f"{key}: {orjson.dumps(value).decode()}\n" for key, value in sections.items())
        self.process = HubProcess(make_home(folder / "home", MODELS.format(base_url=base_url) + SETTINGS + text))
        self.said: list[str] = []

    async def prepare(self) -> None:
        await self.rig.prepare(self.process.home)

    async def start(self) -> None:
        await asyncio.to_thread(self.process.start)
        self.rig.hub_at(self.process.url, self.process.home)
        await self.until(self._is_connected)
        await self.rig.until_back()

    def _is_connected(self) -> bool:
        (account,) = self.process.rpc("channels.status")["channelAccounts"][self.rig.name]
        return bool(account["connected"])

    async def kill(self) -> None:
        await asyncio.to_thread(self.process.kill)

    async def says(self) -> None:
        """Let Ada write something; what a platform does not offer again is said before the hub is killed."""
        self.said.append(f"word{len(self.said):03}")
        with suppress(ClientConnectionError):  # a double that found out that its hub was killed; it has the message
            await self.rig.says(self.said[-1])
        if Can.OFFERS_AGAIN not in self.rig.can:
            await self.until(lambda: self.rows("SELECT 1 FROM inbox WHERE message LIKE ?", f"%{self.said[-1]}%"))

    def rows(self, sql: str, *values: Any) -> list[Any]:
        database = self.process.home / ".storage" / "hub.db"
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=LIMIT_S)) as connection:
            return connection.execute(sql, values).fetchall()

    async def until(self, find: Callable[[], object]) -> None:
        """Wait for something that takes a look at the process."""
        async with asyncio.timeout(LIMIT_S):
            while not await asyncio.to_thread(find):  # noqa: ASYNC110  no event tells of it
                await asyncio.sleep(LOOK_S)

    def open(self) -> list[Any]:
        """Return what Ada said that was not heard, and rows that need work."""
        heard = [text for (text,) in self.rows("SELECT message FROM inbox")]
        lost = [word for word in self.said if not any(word in text for text in heard)]
        told = sum(self.rig.passed_over in text for text in heard) if self.rig.passed_over else 0
        return lost[told:] + self.rows(OPEN)


@pytest.fixture
async def killed(rig: Rig, tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[KilledHub]:
    if rig.is_in_process:
        pytest.skip("its double is in this process")
    openai_server.set_default([{"delay_s": 0.05}, {"echo": True}])
    killed = KilledHub(tmp_path, rig, openai_server.base_url)
    await killed.prepare()
    await killed.start()
    yield killed
    await asyncio.to_thread(killed.process.stop)


@rigs_that()
async def test_nothing_is_lost_or_doubled_however_often_the_hub_is_killed(killed: KilledHub, rig: Rig) -> None:
    chance = random.Random(28)
    for _ in range(KILLS):
        for _ in range(chance.randint(1, 3)):
            await killed.says()
        await asyncio.sleep(chance.uniform(0.0, 0.2))
        await killed.kill()
        if Can.OFFERS_AGAIN in rig.can:
            await killed.says()
        await killed.start()
    with suppress(TimeoutError):
        await killed.until(lambda: killed.open() == [])
    assert killed.open() == []

    sent = killed.rows("SELECT text, state FROM outbox WHERE source != 'notice'")
    for word in killed.said:
        states = [state for text, state in sent if word in (text or "")]
        times = sum(word in shown for shown in rig.shows())
        may_end = [["sent"], ["unknown"], *([["dead"]] if rig.only_answers else [])]  # it has few answers to a message
        assert states in may_end or (states == [] and rig.passed_over), (word, states)
        assert times == 1 if states == ["sent"] else times <= 1, (word, times, states)
